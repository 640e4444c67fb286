// Writes samples/gemini_cli_subagent/ with the real writer, @google/gemini-cli-core 0.61.0; not run by the tests.
//   node make_gemini_cli_subagent.mjs FOLDER_OF_NODE_MODULES
// A chat asks a subagent, whose chat lies in the folder with the session's id, as the program's executor puts it.
import { cpSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, dirname } from 'node:path';
import { fileURLToPath } from 'node:url';

const home = mkdtempSync(join(tmpdir(), 'gemini-'));
process.env.HOME = home;
const { ChatRecordingService } = await import(
  join(process.argv[2], '@google/gemini-cli-core/dist/src/services/chatRecordingService.js')
);
const here = dirname(fileURLToPath(import.meta.url));
const model = 'gemini-2.5-pro';
const parent = '5f0e7d1c-0000-4000-8000-000000000002';
const child = '9a1b2c3d-0000-4000-8000-000000000003';
const config = {
  getProjectRoot: () => '/home/user/project',
  storage: { getProjectTempDir: () => home },
  getWorkspaceContext: () => ({ getDirectories: () => ['/home/user/project'] })
};
const toolRegistry = { getTool: name => ({ displayName: name, description: `About ${name}`, isOutputMarkdown: false }) };

async function chat(promptId, kind, parentSessionId) {
  const service = new ChatRecordingService({ promptId, parentSessionId, config, toolRegistry });
  await service.initialize(undefined, kind);
  return {
    user: (text, id) => service.recordMessage({ model, type: 'user', content: [{ text }], id }),
    answer: (text, id) => service.recordMessage({ model, type: 'gemini', content: text ? [{ text }] : '', id }),
    usage: prompt =>
      service.recordMessageTokens({
        promptTokenCount: prompt, cachedContentTokenCount: 0, candidatesTokenCount: 20,
        thoughtsTokenCount: 0, toolUsePromptTokenCount: 0, totalTokenCount: prompt + 20
      }),
    called: (id, name, args, output, more = {}) =>
      service.recordToolCalls(model, [
        {
          id, name, args, status: 'success', timestamp: new Date().toISOString(),
          result: [{ functionResponse: { id, name, response: { output } } }], ...more
        }
      ])
  };
}

const pause = () => new Promise(resolve => setTimeout(resolve, 20));
const main = await chat(parent, 'main');
main.user('How many tests are there?', 'u1');
main.answer('I ask.', 'g1');
main.usage(5000);
await pause();
const inner = await chat(child, 'subagent', parent);
inner.user('Count the tests', 'u1');
inner.answer('I look.', 'g1');
inner.usage(2000);
inner.called('ls-1', 'list_directory', { path: 'tests' }, 'a_test.py b_test.py');
await pause();
inner.answer('There are 12 tests.', 'g2');
inner.usage(2300);
await pause();
main.called('ask-1', 'codebase_investigator', { objective: 'Count the tests' }, 'There are 12 tests.', { agentId: child });
main.answer('12.', 'g2');
main.usage(5200);
const target = join(here, 'samples', 'gemini_cli_subagent');
rmSync(target, { recursive: true, force: true });
cpSync(join(home, 'chats'), target, { recursive: true });
for (const one of readdirSync(target, { recursive: true, withFileTypes: true })) {
  if (one.isFile()) {
    const path = join(one.parentPath, one.name);
    writeFileSync(path, readFileSync(path, 'utf8').replaceAll(home, '/home/user'));
  }
}
process.exit(0);
