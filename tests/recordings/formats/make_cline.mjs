// Writes samples/cline/ with the real writer, @cline/core 0.0.86; not run by the tests.
// The messages are invented; the program's session service and its basic compaction write them.
//   NODE_PATH=... node make_cline.mjs FOLDER_OF_NODE_MODULES
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

const model = { id: 'claude-sonnet-4-5', provider: 'anthropic' };
const messages = [];
let ts = Date.UTC(2026, 10, 1, 9, 0, 0);
const add = (role, content, rest = {}) =>
  messages.push({ id: `msg_${messages.length + 1}`, role, content, ts: (ts += 5000), ...rest });
add('user', [{ type: 'text', text: 'Which of the two files is longer?' }]);
for (const step of [1, 2]) {
  add(
    'assistant',
    [
      { type: 'thinking', thinking: `File ${step} has to be read.` },
      { type: 'text', text: `I read file ${step}.` },
      { type: 'tool_use', id: `toolu_${step}`, name: 'read_files', input: { paths: [`/p/${step}.txt`] } }
    ],
    {
      modelInfo: model,
      metrics: { inputTokens: 2000 * step, outputTokens: 60, cacheReadTokens: 1500 * (step - 1), cacheWriteTokens: 400, cost: 0.004 * step }
    }
  );
  add('user', [
    { type: 'tool_result', tool_use_id: `toolu_${step}`, name: 'read_files', content: [{ type: 'text', text: `line of ${step}\n`.repeat(400 * step) }] }
  ]);
}
add('assistant', [{ type: 'text', text: 'The second.' }], {
  modelInfo: model,
  metrics: { inputTokens: 6000, outputTokens: 20, cacheReadTokens: 3500, cacheWriteTokens: 2000, cost: 0.01 }
});
add('user', [{ type: 'text', text: 'By how much?' }]);

const backend = await core.resolveSessionBackend({ backendMode: 'local' });
console.log(backend.constructor.name, Object.keys(backend), Object.getOwnPropertyNames(Object.getPrototypeOf(backend)).slice(0, 40));
const id = '1793523600000_abcde_cli';
const made = await backend.createRootSessionWithArtifacts({
  sessionId: id, source: 'cli', pid: process.pid, interactive: true, provider: 'anthropic', model: model.id,
  cwd: '/p', workspaceRoot: '/p', enableTools: true, enableSpawn: false, enableTeams: false,
  prompt: 'Which of the two files is longer?', startedAt: '2026-11-01T09:00:00.000Z'
});
console.log(made.messagesPath);

const config = {
  providerId: 'anthropic', modelId: model.id, sessionId: id,
  providerConfig: { providerId: 'anthropic', modelId: model.id },
  compaction: { enabled: true, strategy: 'basic' }
};
const prepare = core.createContextCompactionPrepareTurn(config, { mode: 'manual', manualTargetRatio: 0.3 });
const prepared = await prepare({
  agentId: 'a', conversationId: 'c', parentAgentId: null, iteration: 1, messages, apiMessages: messages,
  abortSignal: new AbortController().signal, systemPrompt: 'You are Cline.', tools: [],
  model: { id: model.id, provider: model.provider, info: { id: model.id, contextWindow: 8000, maxInputTokens: 6000 } }
});
const compacted = prepared?.messages;
console.log('compacted', JSON.stringify(compacted)?.slice(0, 1500));
if (compacted) {
  await backend.persistSessionCompactionState(
    id, core.createSessionCompactionState({ sourceMessages: messages, compactedMessages: compacted, conversationId: id, updatedAt: '2026-11-01T09:01:00.000Z' })
  );
}
add('assistant', [{ type: 'text', text: '400 lines.' }], {
  modelInfo: model,
  metrics: { inputTokens: 900, outputTokens: 10, cacheReadTokens: 0, cacheWriteTokens: 800, cost: 0.0034 }
});
await backend.persistSessionMessages(id, messages, 'You are Cline.');
const target = join(here, 'samples', 'cline');
rmSync(target, { recursive: true, force: true });
cpSync(dirname(made.messagesPath), target, { recursive: true });
for (const name of readdirSync(target)) {
  const path = join(target, name);
  writeFileSync(path, readFileSync(path, 'utf8').replaceAll(home, '/home/user'));
}
rmSync(home, { recursive: true });
process.exit(0);
