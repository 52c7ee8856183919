import subprocess
import sys

from runner.repo.scratch import Pool


def test_each_taken_slot_is_another_and_a_released_one_is_taken_again(tmp_path):
    pool = Pool(tmp_path)
    first, second = pool.take(), pool.take()
    assert (first.number, second.number) == (0, 1)
    assert first.folder == tmp_path / "slots/0"

    first.release()
    first.release()

    with pool.take() as again:
        assert again.number == 0
    with Pool(tmp_path).take() as other:
        assert other.number == 0


def test_a_pool_asks_no_slot_of_its_own_again(tmp_path, monkeypatch):
    pool = Pool(tmp_path)
    asked, lock = [], Pool._lock
    monkeypatch.setattr(
        Pool, "_lock", lambda self, number: asked.append(number) or lock(self, number)
    )
    held = [pool.take() for _ in range(20)]
    assert asked == list(range(20))
    held[7].release()
    assert pool.take().number == 7
    for slot in held:
        slot.release()


def test_another_process_never_gets_a_held_slot_and_a_dead_one_holds_none(tmp_path):
    code = (
        "import sys; from pathlib import Path; from runner.repo.scratch import Pool;"
        f"slot = Pool(Path({str(tmp_path)!r})).take(); print(slot.number, flush=True);"
        "sys.stdin.read()"
    )
    with Pool(tmp_path).take() as mine:
        other = subprocess.Popen(
            [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        assert (mine.number, other.stdout.readline()) == (0, "1\n")
        other.kill()
        other.communicate()
        with Pool(tmp_path).take() as next_one:
            assert next_one.number == 1


def test_slots_are_private_to_their_user(tmp_path):
    with Pool(tmp_path).take() as slot:
        assert slot.folder.stat().st_mode & 0o077 == 0
