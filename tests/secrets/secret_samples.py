"""Keys of every shape, made up while the tests run: none of them stands in a file."""

import random
import string
from base64 import b64encode, urlsafe_b64encode

CHANCE = random.Random("samples")
DIGITS = string.digits
HEX = "0123456789abcdef"
UPPER = string.ascii_uppercase + string.digits
LOWER = string.ascii_lowercase + string.digits
WORD = string.ascii_letters + string.digits
URL = WORD + "-_"
B64 = WORD + "+/"


def some(count, alphabet=WORD):
    """`count` characters, the first and last of them never punctuation, digits among them."""
    while True:
        text = "".join(CHANCE.choice(alphabet) for _ in range(count))
        mixed = any(c.isdigit() for c in text) and any(c.isalpha() for c in text)
        short = count < 12 or alphabet.isdigit()
        if text[0].isalnum() and text[-1].isalnum() and (mixed or short):
            return text


def encoded(text):
    return b64encode(text.encode()).decode()


def uuid():
    return "-".join(some(n, HEX) for n in (8, 4, 4, 4, 12))


def jwt():
    parts = ('{"alg":"HS256","typ":"JWT"}', f'{{"sub":"{some(9)}","iat":1516239022}}')
    head = ".".join(urlsafe_b64encode(p.encode()).decode().rstrip("=") for p in parts)
    return f"{head}.{some(43, URL)}"


def pem(kind="RSA ", lines=12):
    body = "\n".join(some(64, B64) for _ in range(lines))
    return (
        f"-----BEGIN {kind}PRIVATE"
        f" KEY-----\n{body}\n{some(20, B64)}==\n-----END {kind}PRIVATE KEY-----"
    )


def der():
    return "MII" + "EpA" + "IBAAK" + "CAQEA" + some(300, B64)


def samples():
    """(name of the shape, key, text around it, near miss) for every vendor's shape."""
    yield from _plain()
    yield from _in_context()


def _plain():
    rows = {
        "anthropic": [("sk-" + "ant-", "api03-" + some(93, URL) + "AA")],
        "openrouter": [("sk-" + "or-v1-", some(64, HEX))],
        "langfuse": [("sk-" + "lf-", uuid())],
        "openai": [
            ("sk-" + "proj-", some(58, URL) + "T3Blbk" + "FJ" + some(58, URL)),
            ("sk-" + "svcacct-", some(74, URL)),
            ("sk-", some(20) + "T3Blbk" + "FJ" + some(20)),
        ],
        "sk-key": [("sk-", some(48)), ("sk-", some(32, HEX))],
        "groq": [("gs" + "k_", some(52))],
        "xai": [("xa" + "i-", some(80))],
        "perplexity": [("ppl" + "x-", some(48))],
        "replicate": [("r8" + "_", some(37))],
        "huggingface": [("hf" + "_", some(34)), ("api_" + "org_", some(34))],
        "langsmith": [("lsv2" + "_pt_", some(32, HEX) + "_" + some(10, HEX))],
        "nvidia": [("nvapi" + "-", some(64, URL))],
        "cerebras": [("cs" + "k-", some(48, LOWER))],
        "fireworks": [("fw" + "_", some(24))],
        "pinecone": [("pcsk" + "_", some(6) + "_" + some(60))],
        "tavily": [("tvly" + "-dev-", some(32))],
        "elevenlabs": [("sk" + "_", some(48, HEX))],
        "wandb": [("wandb" + "_v1_", some(77, URL))],
        "google-api": [("AI" + "za", some(35, URL))],
        "bedrock": [("AB" + "SK", some(120, B64))],
        "aws-id": [("AK" + "IA", some(16, UPPER)), ("AS" + "IA", some(16, UPPER))],
        "aws-session": [("IQoJb3" + "JpZ2lu", some(200, B64))],
        "google-oauth-secret": [("GOC" + "SPX-", some(28, URL))],
        "google-oauth": [("ya" + "29.", some(68, URL))],
        "google-refresh": [("1/" + "/0", some(60, URL))],
        "azure-functions": [("", some(44, URL) + "AzF" + "u" + some(6) + "Q==")],
        "alibaba": [("LT" + "AI", some(20))],
        "tencent": [("AK" + "ID", some(32))],
        "yandex": [("AQ" + "VN", some(36, URL))],
        "digitalocean": [("do" + "p_v1_", some(64, HEX)), ("do" + "o_v1_", some(64, HEX))],
        "cloudflare": [("cf" + "ut_", some(40, URL)), ("cf" + "k_", some(40, URL))],
        "cloudflare-ca": [("v1." + "0-", some(24, HEX) + "-" + some(146, HEX))],
        "heroku": [("HRK" + "U-", "AA" + some(58, URL))],
        "fly": [("fo" + "1_", some(43, URL)), ("fm" + "2_", some(120, B64))],
        "vercel": [("vc" + "p_", some(56))],
        "netlify": [("nf" + "p_", some(36))],
        "render": [("rn" + "d_", some(32))],
        "supabase": [("sb" + "p_", some(40, HEX)), ("sb" + "_secret_", some(31, URL))],
        "neon": [("na" + "pi_", some(64, LOWER))],
        "planetscale": [("pscale" + "_tkn_", some(43, URL))],
        "databricks": [("da" + "pi", some(32, HEX))],
        "vault": [("hv" + "s.", some(90, URL)), ("hv" + "b.", some(138, URL))],
        "terraform": [(some(14) + ".atlas" + "v1.", some(67, URL))],
        "pulumi": [("pu" + "l-", some(40, HEX))],
        "doppler": [("dp" + ".pt.", some(43))],
        "onepassword": [("ops" + "_eyJ", some(250, B64))],
        "age": [("AGE-SECRET" + "-KEY-1", some(58, UPPER))],
        "tailscale": [("tskey" + "-auth-", some(12) + "-" + some(32))],
        "scaleway": [("SC" + "W", some(17, UPPER))],
        "dynatrace": [("dt0" + "c01.", some(24, UPPER) + "." + some(64, UPPER))],
        "github": [(f"gh{kind}" + "_", some(36)) for kind in "pousr"]
        + [("gh" + "s_", "123456_" + jwt())],
        "github-pat": [("github" + "_pat_", some(22) + "_" + some(59))],
        "gitlab": [
            ("gl" + f"{kind}-", some(24, URL)) for kind in ("pat", "dt", "rt", "ptt", "soat")
        ],
        "gitlab-runner": [("GR13" + "48941", some(20, URL))],
        "bitbucket": [("AT" + "BB", some(32))],
        "atlassian": [("ATA" + "TT3", "xFfGF0" + some(170, URL) + "=" + some(8, UPPER))],
        "npm": [("np" + "m_", some(36))],
        "pypi": [("pypi" + "-AgE", "IcHlwaS5vcmc" + some(120, URL))],
        "rubygems": [("rubygems" + "_", some(48, HEX))],
        "crates": [("ci" + "o", some(32))],
        "nuget": [("oy" + "2", some(43, LOWER))],
        "clojars": [("CLOJARS" + "_", some(60, LOWER))],
        "docker": [("dckr" + "_pat_", some(27, URL)), ("dckr" + "_oat_", some(32, URL))],
        "artifactory": [("AK" + "Cp", some(69))],
        "circleci": [("CCI" + "PAT_", some(22) + "_" + some(40, HEX))],
        "buildkite": [("bk" + "ua_", some(40, LOWER))],
        "sonar": [("sq" + "p_", some(40, HEX))],
        "sourcegraph": [("sg" + "p_", some(16, HEX) + "_" + some(40, HEX))],
        "sentry": [("sntry" + "u_", some(64, HEX))],
        "newrelic": [("NR" + "AK-", some(27, UPPER))],
        "grafana": [("gl" + "sa_", some(32) + "_" + some(8, HEX))],
        "posthog": [("ph" + "x_", some(43))],
        "postman": [("PM" + "AK-", some(24, HEX) + "-" + some(34, HEX))],
        "launchdarkly": [("sd" + "k-", uuid())],
        "infracost": [("ic" + "o-", some(32))],
        "stripe": [
            ("sk" + "_live_", some(24)),
            ("rk" + "_test_", some(99)),
            ("sk" + "_test_", some(24)),
        ],
        "webhook-secret": [("whs" + "ec_", some(32))],
        "twilio": [("S" + "K", some(32, HEX)), ("A" + "C", some(32, HEX))],
        "sendgrid": [("S" + "G.", some(22, URL) + "." + some(43, URL))],
        "mailgun": [("ke" + "y-", some(32, HEX))],
        "mailchimp": [(some(32, HEX), "-us" + "14")],
        "brevo": [("xkey" + "sib-", some(64, HEX) + "-" + some(16))],
        "resend": [("re" + "_", some(8) + "_" + some(24))],
        "slack": [
            (
                "xox" + "b-",
                some(12, DIGITS) + "-" + some(13, DIGITS) + "-" + some(24),
            ),
            ("xox" + "e-", "1-" + some(146)),
            (
                "xap" + "p-",
                "1-" + some(11, UPPER) + "-" + some(13, DIGITS) + "-" + some(64, HEX),
            ),
        ],
        "discord": [("M" + some(25), "." + some(6, URL) + "." + some(38, URL))],
        "shopify": [("shp" + "at_", some(32, HEX)), ("shp" + "ss_", some(32, HEX))],
        "square": [("sq0" + "atp-", some(22, URL)), ("sq0" + "csp-", some(43, URL))],
        "facebook": [("EA" + "AB", some(180))],
        "twitter": [("A" * 22, some(20) + "%" + "2F" + some(50))],
        "dropbox": [("sl" + ".", some(140, URL))],
        "figma": [("fig" + "d_", some(40, URL))],
        "notion": [("nt" + "n_", some(46))],
        "linear": [("lin" + "_api_", some(40))],
        "airtable": [("pa" + "t" + some(14) + ".", some(64, HEX))],
        "contentful": [("CFP" + "AT-", some(43, URL))],
        "hubspot": [("pa" + "t-na1-", uuid())],
        "typeform": [("tf" + "p_", some(59, URL))],
        "mapbox": [("sk" + ".eyJ", some(80) + "." + some(22, URL))],
        "adafruit": [("ai" + "o_", some(28))],
        "easypost": [("EZ" + "AK", some(54))],
        "flutterwave": [("FLWS" + "ECK-", some(32, HEX) + "-X")],
        "shippo": [("shippo" + "_live_", some(40, HEX))],
        "plaid": [("access" + "-sandbox-", uuid())],
        "amazon-mws": [("amzn" + ".mws.", uuid())],
        "private-key": [("", pem()), ("", pem("")), ("", der())],
        **_platforms(),
        **_services(),
        **_trade(),
        **_prefixed(),
        **_built(),
    }
    for name, pairs in rows.items():
        for prefix, body in pairs:
            yield name, prefix + body, "{}", prefix + body[: min(4, len(body) // 4)]
    yield "jwt", jwt(), "{}", "ey" + "J0." + "eyJ1"


def _platforms():
    return {
        "apify": [("apify" + "_api_", some(36))],
        "firecrawl": [("fc" + "-", some(32, HEX))],
        "e2b": [("e2" + "b_", some(40, HEX))],
        "jina": [("ji" + "na_", some(32, HEX) + some(28, URL))],
        "llamacloud": [("ll" + "x-", some(48))],
        "together": [("tg" + "p_v1_", some(43, URL))],
        "runwayml": [("ke" + "y_", some(128, HEX))],
        "azure-devops": [("", some(76) + "AZ" + "DO" + some(4))],
        "azure-registry": [("", some(42) + "+A" + "CR" + some(6))],
        "openshift": [("sha" + "256~", some(43, URL))],
        "aiven": [("AVN" + "S_", some(19, URL))],
        "clickhouse": [("4b" + "1d", some(38))],
        "deno": [("dd" + "p_", some(36))],
        "defined-networking": [("dn" + "key-", some(26, LOWER) + "-" + some(52, LOWER))],
        "prefect": [("pn" + "u_", some(36))],
        "portainer": [("pt" + "r_", some(43, B64) + "=")],
        "akamai": [("ak" + "ab-", some(16, LOWER) + "-" + some(16, LOWER))],
        "upcloud": [("uc" + "at_", some(26, UPPER))],
        "harness": [("pa" + "t.", some(22, URL) + "." + some(24, HEX) + "." + some(20))],
        "scalingo": [("tk" + "-us-", some(48, URL))],
        "readme": [("rd" + "me_", some(70, LOWER))],
        "octopus": [("AP" + "I-", some(26, UPPER))],
        "honeycomb": [("hc" + "aik_", some(58, LOWER))],
        "trello": [("AT" + "TA", some(72, HEX))],
        "endor": [("en" + "dr+", some(16, URL))],
        "checkly": [("c" + "u_", some(32, HEX))],
    }


def _services():
    return {
        "twitch": [("liv" + "e_", some(9, DIGITS) + "_" + some(30))],
        "alchemy": [("alc" + "ht_", some(30))],
        "dependency-track": [("od" + "t_", some(32))],
        "appsync": [("da" + "2-", some(26, LOWER))],
        "docker-swarm": [("SWM" + "TKN-1-", some(50, LOWER) + "-" + some(25, LOWER))],
        "salesforce": [("00" + "D" + some(12) + "!", some(96, WORD + "._"))],
        "kerberos-hash": [("$kr" + "b5asrep$23$", some(32, HEX) + "$" + some(64, HEX))],
        "ntlm": [("TlRM" + "TVNTUAAD", some(120, B64))],
        "nkey": [("S" + "U", some(56, string.ascii_uppercase + "234567"))],
        "photoroom": [("sk" + "_pr_", "mine_" + some(40, HEX))],
        "microsoft-refresh": [("0." + "AXEA", some(30, URL) + ".AgAB" + some(80, URL))],
        "truenas": [("8" + "-", some(64))],
        "rootly": [("root" + "ly_", some(64, HEX))],
        "tableau": [(some(22, B64) + "=" + "=:", some(32))],
        "thingsboard": [("/api" + "/v1/", some(20) + "/telemetry")],
        "besttime": [("pr" + "i_", some(32, HEX))],
    }


def _trade():
    return {
        "braintree": [("access" + "_token$", "sandbox$" + some(16, LOWER) + "$" + some(32, HEX))],
        "razorpay": [("rz" + "p_live_", some(14))],
        "zoho": [("10" + "00.", some(32, HEX) + "." + some(32, HEX))],
        "duffel": [("duf" + "fel_live_", some(43, URL))],
        "frameio": [("fi" + "o-u-", some(64, URL))],
        "adobe": [("p8" + "e-", some(32))],
        "maxmind": [(some(6) + "_", some(29) + "_m" + "mk")],
        "xendit": [("xn" + "d_production_", some(60))],
        "instagram": [("IG" + "QV", some(140))],
        "asana": [("1/", some(16, DIGITS) + ":" + some(32, HEX))],
        "klaviyo": [("p" + "k_", some(34, HEX))],
        "lob": [("liv" + "e_", some(35, HEX))],
        "clickup": [("p" + "k_", some(8, DIGITS) + "_" + some(32, UPPER))],
        "zuplo": [("zp" + "ka_", some(32, HEX) + "_" + some(8, HEX))],
        "intra42": [("s-s4" + "t2ud-", some(64, HEX))],
        "settlemint": [("sm" + "_aat_", some(16))],
        "django": [("django" + "-insecure-", some(50, LOWER + "!@#$%^&*(-_=+)"))],
    }


def _prefixed():
    """Formats that a prefix of their own tells, of services that gave themselves one lately."""
    return {
        "runpod": [("rp" + "a_", some(46, UPPER))],
        "helicone": [("sk-" + "helicone-", "-".join(some(7, LOWER) for _ in range(4)))],
        "letta": [("sk-" + "let-", encoded(some(60)))],
        "voyage": [("pa" + "-", some(43, URL))],
        "mem0": [("m" + "0-", some(40))],
        "modal": [("a" + "k-", some(22)), ("a" + "s-", some(22))],
        "daytona": [("dt" + "n_", some(64, HEX))],
        "browserbase": [("bb_" + "live_", some(27, URL))],
        "cursor": [("crs" + "r_", some(64, HEX)), ("ke" + "y_", some(64, HEX))],
        "openvsx": [("ovs" + "xp_", uuid()), ("ovs" + "xat_", uuid())],
        "packagist": [("packa" + "gist_ort_", some(68, HEX))],
        "wakatime": [("wa" + "ka_", uuid())],
        "socket": [("skt" + "sec_", some(40) + "_api")],
        "plane": [("plane" + "_api_", some(32, HEX))],
        "xata": [("xa" + "u_", some(34))],
        "valtown": [("vt" + "wn_", some(30))],
        "inngest": [("sign" + "key-prod-", some(64, HEX))],
        "trigger": [("tr_" + "prod_", some(24))],
        "n8n": [("n8n" + "_api_", some(80, HEX))],
        "logfire": [("pylf" + "_v1_us_", some(44))],
        "statsig": [("secret" + "-", some(43))],
        "flagsmith": [("se" + "r.", some(22))],
        "unkey": [("unk" + "ey_", some(40))],
        "mailersend": [("ml" + "sn.", some(64, HEX))],
        "lichess": [("li" + "p_", some(20))],
        "polar": [("pol" + "ar_oat_", some(43))],
        "persona": [("persona" + "_production_", uuid())],
        "ramp": [("ra" + "mp_sec_", some(48))],
    }


def _built():
    """Formats of several parts."""
    hexes = "0123456789ABCDEF"
    claims = "ey" + "J"
    return {
        "cockroach": [("CC" + "DB1_", some(22) + "_" + some(40))],
        "convex": [("prod:" + "happy-animal-123|", claims + "2MiI6" + some(60))],
        "tinybird": [("p." + claims, some(80, URL) + "." + some(43, URL))],
        "wix": [("IST." + claims, some(60, URL) + "." + some(90, URL) + "." + some(86, URL))],
        "stackhawk": [("ha" + "wk.", some(20, URL) + "." + some(20, URL))],
        "unleash": [("*:" + "production.", some(56, HEX))],
        "telnyx": [("KE" + "Y", some(32, hexes) + "_" + some(22))],
        "paddle": [
            ("pdl_" + "live_apikey_", f"{some(26, LOWER)}_{some(22)}_{some(3)}"),
            ("pdl_" + "ntfset_", f"{some(26, LOWER)}_{some(32)}"),
        ],
        "onfido": [("api_" + "live_us.", some(11) + "." + some(32, URL))],
        "azure-service": [
            ("", some(76, B64) + "+A" + "St" + some(5) + "Q=="),
            ("", some(76, B64) + "AC" + "Db" + some(5) + "A=="),
            ("", some(33, B64) + "+A" + "Eh" + some(5) + "U="),
            ("", some(33, B64) + "Az" + "Ca" + some(5, "ABCDEFGHIJKLMNOP") + "E="),
        ],
    }


def _in_context():
    """Shapes that a neighbour makes: the text around the key belongs to them."""
    aws = "aws_secret_" + "access_key = '{}'"
    yield "aws-secret", some(40, B64), aws, some(6)
    yield "google-service-account", some(40, HEX), '"private_key_' + 'id": "{}"', some(10, HEX)
    yield "azure-ad", some(3) + "8" + "Q~" + some(34, WORD + "_~."), "'{}'", "Q~" + some(9)
    yield "azure-storage", some(86, B64) + "==", "Account" + "Key={};", some(8)
    yield "azure-sas", some(43) + "%3D", "https://a.blob/c?sv=2020&si" + "g={}", some(8)
    yield "npm-legacy", some(36, LOWER), "//r.example/:_auth" + "Token={}", some(8)
    yield (
        "slack-webhook",
        "services/T0123ABCD/B0123ABCD/" + some(24),
        ("https://hooks." + "slack.com/{}"),
        "services/T1",
    )
    yield (
        "discord-webhook",
        some(68, URL),
        ("https://discord.com/" + "api/webhooks/123456789012345678/{}"),
        some(9),
    )
    yield (
        "teams-webhook",
        f"{uuid()}@{uuid()}/IncomingWebhook/{some(32, HEX)}/{uuid()}",
        ("https://x.webhook." + "office.com/webhookb2/{}"),
        some(9),
    )
    yield "telegram", "123456789:" + "A" + some(34, URL), "bot = '{}'", "123456789:" + "A" + some(9)
    yield "gitlab-session", some(32, HEX), "Cookie: _gitlab" + "_session={}", some(8, HEX)
    yield "sidekiq", some(8, HEX) + ":" + some(8, HEX), "{}@gems.contribsys" + ".com", some(8)
    yield "url-password", some(14), "postgres://bob:" + "{}" + "@db.example.com/x", "password"
    yield "bearer", some(40), "Authorization: " + "Bearer {}", some(9)
    yield (
        "basic-auth",
        b64encode(some(24).encode()).decode(),
        ("Authorization: " + "Basic {}"),
        some(9),
    )
    yield "aws-signed-url", some(64, HEX), "https://b.s3/k?X-Amz-" + "Signature={}", some(9, HEX)
    yield "okta", "00" + some(40, URL), "okta_api" + ": {}", "00" + some(4)
    yield "kubernetes", "abcdef." + some(16, LOWER), "--tls-bootstrap-" + "token {}", "abc.1"
    yield "netrc", some(9), "machine a.example login me pass" + "word {}\n", "pw"
    yield "password-hash", some(53, WORD), "$2" + "b$12${}", some(9)
    yield "jwk", some(43, URL), "{{'kty': 'EC', 'd': '{}'}}", some(9)
    yield "jenkins", some(32, HEX), "-H 'Jenkins-" + "Crumb:{}'", some(9, HEX)
    yield "password", "Wq7#" + some(6) + "!", "pass" + "word = '{}'", "changeme"
    yield "password", "Wq7" + some(6) + "x", "IDENTIFIED " + "BY '{}';", "changeme"
    yield "password", "Wq7" + some(6) + "x", "sync --pass" + "word {} now", "changeme"
    yield "password", "blue42horse", "Server=a;User ID=sa;Pass" + "word={};", "changeme"
    yield "licence-key", "-".join(some(5, UPPER) for _ in range(5)), "Activation key : {}", "AB"
    yield "kubernetes-secret", encoded(some(12)), "kind: Secret\ndata:\n  a: {}\n", encoded("root")
    yield "ntlm", "TlRMTVNTUA" + "ADAAAA" + some(60, B64), "Authorization: NTLM {}", some(9)
    yield "wundergraph", "cosmo" + "_" + some(32, HEX), "key {}", "cosmo_" + some(9, HEX)
    yield "codeclimate", some(64, HEX), "CC_TEST_" + "REPORTER_ID: {}", some(9, HEX)
    for assignment in ASSIGNMENTS:
        yield "assigned", some(32), assignment, "changeme"


ASSIGNMENTS = tuple(
    text.replace("@", "ap" + "i_key")
    for text in (
        '@ = "{}"',
        "@: str = '{}'",
        'config["@"] = "{}"',
        "set_@('{}')",
        '"@": "{}",',
        "@: {}",
        "export MY_@={}",
        '<add key="@" value="{}"/>',
        "- name: @\n  value: {}",
        "const @: string = `{}`;",
        "Use `@={}` here",
        "('@', '{}')",
    )
)
