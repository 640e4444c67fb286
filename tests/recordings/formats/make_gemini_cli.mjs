// Writes samples/gemini_cli.jsonl with the real writer, @google/gemini-cli-core 0.61.0; not run by the tests.
//   node make_gemini_cli.mjs FOLDER_OF_NODE_MODULES
// The calls are those of the program: a request with a tool, a rewind, a masked result, a compression.
import { copyFileSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
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
const service = new ChatRecordingService({
  promptId: '5f0e7d1c-0000-4000-8000-000000000001',
  config: {
    getProjectRoot: () => '/home/user/project',
    storage: { getProjectTempDir: () => home },
    getWorkspaceContext: () => ({ getDirectories: () => [] })
  },
  toolRegistry: { getTool: name => ({ displayName: name, description: `About ${name}`, isOutputMarkdown: false }) }
});
await service.initialize();
const user = (text, id) => service.recordMessage({ model, type: 'user', content: [{ text }], id });
const usage = (prompt, cached, output, thoughts) =>
  service.recordMessageTokens({
    promptTokenCount: prompt, cachedContentTokenCount: cached, candidatesTokenCount: output,
    thoughtsTokenCount: thoughts, toolUsePromptTokenCount: 0, totalTokenCount: prompt + output + thoughts
  });
const answer = (text, id) => service.recordMessage({ model, type: 'gemini', content: text ? [{ text }] : '', id });
const result = (id, output) => [{ functionResponse: { id, name: 'read_file', response: { output } } }];
const called = (id, path, output) =>
  service.recordToolCalls(model, [
    { id, name: 'read_file', args: { file_path: path }, status: 'success', timestamp: new Date().toISOString(), result: result(id, output) }
  ]);

user('What is in a.txt?', 'u1');
service.recordThought({ subject: 'Reading', description: 'The file has to be read.' });
answer('I read it.', 'g1');
usage(5000, 0, 40, 60);
called('read-1', 'a.txt', 'alpha '.repeat(2000));
answer('It says alpha.', 'g2');
usage(8000, 4800, 12, 0);
service.recordMessage({ model, type: 'info', content: 'Update available.' });
user('And what is in b.txt?', 'u2');
answer('I will not tell.', 'g3');
usage(8100, 7000, 8, 0);
service.rewindTo('u2');
user('Please say what is in b.txt.', 'u3');
service.recordThought({ subject: 'Reading', description: 'Another file.' });
answer('', 'g4');
called('read-2', 'b.txt', 'beta '.repeat(50));
usage(8200, 8000, 30, 20);
const history = (id, role, parts) => ({ id, content: { role, parts } });
const masked = '<tool_output_masked>alpha alpha ... (11 kB)</tool_output_masked>';
service.updateMessagesFromHistory([
  history('u1', 'user', [{ text: 'What is in a.txt?' }]),
  history('g1', 'model', [{ text: 'I read it.' }]),
  history('r1', 'user', result('read-1', masked)),
  history('g2', 'model', [{ text: 'It says alpha.' }]),
  history('u3', 'user', [{ text: 'Please say what is in b.txt.' }]),
  history('g4', 'model', []),
  history('r2', 'user', result('read-2', 'beta '.repeat(50)))
]);
answer('It says beta.', 'g5');
usage(5300, 4000, 11, 0);
service.updateMessagesFromHistory([
  history('s1', 'user', [{ text: '<state_snapshot>Both files were read.</state_snapshot>' }]),
  history('s2', 'model', [{ text: 'Got it. Thanks for the additional context!' }]),
  history('u3', 'user', [{ text: 'Please say what is in b.txt.' }]),
  history('g4', 'model', []),
  history('r2', 'user', result('read-2', 'beta '.repeat(50))),
  history('g5', 'model', [{ text: 'It says beta.' }])
]);
user('Thanks. Which is shorter?', 'u4');
answer('b.txt.', 'g6');
usage(2100, 0, 5, 10);
service.saveSummary('Two files were compared.');
const target = join(here, 'samples', 'gemini_cli.jsonl');
copyFileSync(service.getConversationFilePath(), target);
writeFileSync(target, readFileSync(target, 'utf8').replaceAll(home, '/home/user'));
process.exit(0);
