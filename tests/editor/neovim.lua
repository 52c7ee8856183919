-- Opens the plan in a real Neovim, asks its language client, and prints a line for each answer.
local out = io.open(vim.env.ANSWERS, "w")
local function say(name, value)
  out:write(name .. ": " .. value .. "\n")
  out:flush()
end
local function ends()
  out:close()
  vim.cmd("qall!")
end

vim.cmd("edit TASK-GRAPH.md")
local id = vim.lsp.start_client({
  name = "runner",
  cmd = { vim.env.PYTHON, "-P", "-m", "runner", "lsp" },
  root_dir = vim.fn.getcwd(),
})
vim.lsp.buf_attach_client(0, id)
local wait = 120000
if not vim.wait(wait, function() return vim.lsp.buf_is_attached(0, id) and vim.lsp.buf_get_clients(0)[id] ~= nil end, 50) then
  say("attached", "no")
  ends()
end
vim.wait(wait, function() return #vim.diagnostic.get(0) > 0 end, 50)
local function broken()
  for _, one in ipairs(vim.diagnostic.get(0)) do
    if one.message:find("TASK%-009") then
      return one
    end
  end
end
vim.api.nvim_buf_set_lines(0, 21, 22, false, { "- Depends on: TASK-009" })
vim.wait(wait, function() return broken() ~= nil end, 50)
local found = broken()
say("diagnostic", found and (found.lnum .. " " .. found.col .. " " .. found.message:match("[^\n]*")) or "none")
vim.api.nvim_buf_set_lines(0, 21, 22, false, { "- Depends on: TASK-001" })
vim.wait(wait, function() return broken() == nil end, 50)

vim.api.nvim_win_set_cursor(0, { 22, 16 })
vim.lsp.buf.definition()
vim.wait(wait, function() return vim.api.nvim_win_get_cursor(0)[1] == 3 end, 50)
say("definition", table.concat(vim.api.nvim_win_get_cursor(0), " "))

local lenses
vim.lsp.buf_request(0, "textDocument/codeLens", { textDocument = vim.lsp.util.make_text_document_params() },
  function(_, result) lenses = result end)
vim.wait(wait, function() return lenses ~= nil end, 50)
for _, one in ipairs(lenses or {}) do
  say("lens", one.range.start.line .. " " .. one.command.title)
end
local shown
vim.lsp.handlers["window/showMessage"] = function(_, result) shown = result.message end
vim.lsp.codelens.refresh()
vim.wait(wait, function() return #vim.lsp.codelens.get(0) > 0 end, 50)
vim.lsp.buf.execute_command(lenses[2].command)
vim.wait(wait, function() return shown ~= nil end, 50)
say("run", shown or "nothing")

vim.lsp.buf.rename("TASK-007")
vim.wait(wait, function() return vim.api.nvim_buf_get_lines(0, 2, 3, false)[1]:find("TASK%-007") ~= nil end, 50)
say("rename", vim.api.nvim_buf_get_lines(0, 2, 3, false)[1])
say("rename", vim.api.nvim_buf_get_lines(0, 21, 22, false)[1])
local map = vim.fn.bufadd(vim.fn.getcwd() .. "/FILE_OWNERSHIP_MAP.md")
say("rename", vim.api.nvim_buf_get_lines(map, 2, 3, false)[1] or "not loaded")
ends()
