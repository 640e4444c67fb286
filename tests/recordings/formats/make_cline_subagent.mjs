// Writes samples/cline_subagent/ with the real writer, @cline/core 0.0.86; not run by the tests.
//   node make_cline_subagent.mjs FOLDER_OF_NODE_MODULES
// The messages are invented; the program's session service notes the start and the end of a subagent and writes both files.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = mkdtempSync(join(tmpdir(), 'cline-'));
process.env.HOME = home;
process.env.CLINE_DIR = home;
process.env.CLINE_DATA_DIR = join(home, 'data');
process.env.CLINE_SESSION_DATA_DIR = join(home, 'sessions');
process.env.CLINE_SESSION_BACKEND_MODE = 'local';
const core = await import(join(process.argv[2], '@cline/core/dist/index.js'));
const here = dirname(fileURLToPath(import.meta.url));

const modelInfo = { id: 'claude-sonnet-4-5', provider: 'anthropic' };
const id = '1793523600000_fghij_cli';
const at = seconds => Date.UTC(2026, 10, 1, 9, 0, seconds);
const text = said => [{ type: 'text', text: said }];
const metrics = input => ({ inputTokens: input, outputTokens: 20, cacheReadTokens: 0, cacheWriteTokens: 0, cost: 0.004 });
const input = { systemPrompt: 'You count.', task: 'Count the tests' };
const inner = [
  { id: 'msg_1', role: 'user', content: text('Count the tests'), ts: at(6) },
  { id: 'msg_2', role: 'assistant', content: text('There are 12 tests.'), ts: at(8), modelInfo, metrics: metrics(700) }
];
const outer = [
  { id: 'msg_1', role: 'user', content: text('How many tests are there?'), ts: at(0) },
  {
    id: 'msg_2', role: 'assistant', ts: at(5), modelInfo, metrics: metrics(2000),
    content: [...text('I ask.'), { type: 'tool_use', id: 'toolu_1', name: 'spawn_agent', input }]
  },
  {
    id: 'msg_3', role: 'user', ts: at(9),
    content: [{ type: 'tool_result', tool_use_id: 'toolu_1', name: 'spawn_agent', content: text('There are 12 tests.') }]
  },
  { id: 'msg_4', role: 'assistant', content: text('12.'), ts: at(12), modelInfo, metrics: metrics(2300) }
];

const backend = await core.resolveSessionBackend({ backendMode: 'local' });
const made = await backend.createRootSessionWithArtifacts({
  sessionId: id, source: 'cli', pid: process.pid, interactive: true, provider: 'anthropic', model: modelInfo.id,
  cwd: '/p', workspaceRoot: '/p', enableTools: true, enableSpawn: true, enableTeams: false,
  prompt: 'How many tests are there?', startedAt: '2026-11-01T09:00:00.000Z'
});
const context = { subAgentId: 'agent_counter', conversationId: 'conv_2', parentAgentId: 'agent_lead', input };
await backend.handleSubAgentStart(id, context);
await backend.handleSubAgentEnd(id, {
  ...context,
  result: { text: 'There are 12 tests.', iterations: 1, finishReason: 'completed', usage: { inputTokens: 700, outputTokens: 20 } },
  agentResult: {
    messages: inner, text: 'There are 12 tests.', finishReason: 'completed', usage: { inputTokens: 700, outputTokens: 20 },
    model: { ...modelInfo, info: { id: modelInfo.id } }
  }
});
await backend.persistSessionMessages(`${id}__agent_counter`, inner, input.systemPrompt);
await backend.persistSessionMessages(id, outer, 'You are Cline.');
const target = join(here, 'samples', 'cline_subagent');
rmSync(target, { recursive: true, force: true });
cpSync(dirname(made.messagesPath), target, { recursive: true });
for (const name of readdirSync(target)) {
  const path = join(target, name);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(home, '/home/user'));
}
rmSync(home, { recursive: true });
process.exit(0);
