// @vitest-environment jsdom
/** What is pasted and dropped into the composer: what goes along, what is asked about, and what is refused. */
import {
  act,
  cleanup,
  fireEvent,
  render,
  screen
} from '@testing-library/react';
import { beforeEach, expect, it } from 'vitest';
import {
  MAX_UNASKED_TOKENS,
  MAX_FILE_BYTES
} from '../../../src/views/composer/pastedFiles';
import { field, panelPage, press } from '../../drawnPanel';
import { panelActions, type MockedActions } from '../../panelActions';

beforeEach(() => {
  localStorage.clear();
});
/** Returns the actions of a kernel that attaches what it is given, with so many tokens. */
function attaching(tokens = 40, unseen = false): MockedActions {
  const actions = panelActions();
  actions.prompts.attach.mockImplementation(attachment =>
    Promise.resolve({ attachment, tokens, unseen })
  );
  return actions;
}

const file = (name: string, size = 3) =>
  ({
    name,
    size,
    arrayBuffer: () => Promise.resolve(new TextEncoder().encode(name).buffer)
  }) as unknown as File;

const transfer = (
  files: readonly File[],
  texts: Record<string, string> = {}
) => ({
  files,
  types: ['Files'],
  getData: (mime: string) => texts[mime] ?? ''
});

/** Lets what was begun end. */
const settled = () => act(() => new Promise(done => setTimeout(done, 5)));

async function paste(...given: Parameters<typeof transfer>) {
  const isLeft = fireEvent.paste(field(), {
    clipboardData: transfer(...given)
  });
  await settled();
  return !isLeft;
}

async function drop(...names: string[]) {
  const files = names.map(name => file(name));
  fireEvent.drop(field(), { dataTransfer: transfer(files) });
  await settled();
}

/** Drags something of JupyterLab's own over the composer, and lets go of it there. */
async function dragHere(mime: string, value: unknown) {
  for (const type of ['lm-dragover', 'lm-dragover', 'lm-drop']) {
    const event = new Event(type, { bubbles: true, cancelable: true });
    Object.assign(event, {
      mimeData: {
        hasData: (name: string) => name === mime,
        getData: () => value
      },
      proposedAction: 'move'
    });
    act(() => {
      field().dispatchEvent(event);
    });
  }
  await settled();
}

const chips = () =>
  screen
    .queryAllByRole('listitem')
    .map(({ textContent }) => textContent.replace('×', ''));

it('goes along, with its tokens or that the model does not see it', async () => {
  const actions = attaching(40, true);
  render(panelPage({}, actions));
  expect(await paste([], { 'text/plain': 'def f():\n\treturn 1\n' })).toBe(
    false
  );
  expect(await paste([file('shot.png')])).toBe(true);
  expect(chips()).toEqual([
    'shot.png · named only: this model sees no pictures'
  ]);
  cleanup();
  localStorage.clear();

  const seen = attaching();
  render(panelPage({}, seen));
  const table = '<table><tr><td>robin<td>20</table>';
  await paste([file('a picture of it')], { 'text/html': table });
  await drop('notes.md', 'more.md');
  await dragHere('application/vnd.jupyter.cells', [
    { cell_type: 'code', execution_count: 7, source: 'birds.head()' }
  ]);
  expect(chips()).toEqual(
    ['cell 7', 'notes.md', 'more.md', 'table.tsv'].map(
      name => `${name} · ~40 tokens`
    )
  );
  fireEvent.click(screen.getByRole('button', { name: 'Remove notes.md' }));
  fireEvent.change(field(), { target: { value: 'Which?' } });
  press('Enter');

  const [[text, chosen] = []] = seen.prompts.send.mock.calls;
  expect(text).toBe('Which?');
  expect(chosen?.files?.map(({ filename }) => filename)).toEqual([
    'cell 7',
    'more.md',
    'table.tsv'
  ]);
  expect(chips()).toEqual([]);
});

it('is named where it lies in the project, and read where it does not', async () => {
  const actions = attaching();
  actions.prompts.previews.mockImplementation(text =>
    Promise.resolve([
      {
        text,
        kind: 'file',
        name: text.slice(1),
        state: text.includes('birds') ? 'sent' : 'unknown',
        about: ''
      }
    ])
  );
  render(panelPage({}, actions));
  fireEvent.change(field(), { target: { value: 'What is in' } });
  const PATHS = 'application/x-jupyter-icontents';
  await dragHere(PATHS, ['birds.csv']);
  await dragHere(PATHS, ['data/two words.csv']);

  expect(field().value).toBe('What is in @birds.csv ');
  expect(actions.notebook.readFile.mock.calls).toEqual([
    ['data/two words.csv']
  ]);
  expect(chips()).toContain('two words.csv · ~40 tokens');
});

it('is asked about where it is large, and the prompt waits for that', async () => {
  const actions = attaching(MAX_UNASKED_TOKENS + 1);
  render(panelPage({}, actions));
  await drop('rows.csv', 'more.csv');
  expect(chips()).toEqual([]);
  fireEvent.change(field(), { target: { value: 'How many?' } });
  press('Enter');

  expect(document.activeElement?.textContent).toBe('Attach');
  expect(actions.prompts.send).not.toHaveBeenCalled();
  const asked = screen.getAllByRole('group', { name: /is large: ~10,001/ });
  expect(asked).toHaveLength(2);
  const [attach] = screen.getAllByRole('button', { name: 'Attach' });
  fireEvent.click(attach as HTMLElement);
  fireEvent.click(screen.getByRole('button', { name: 'Leave out' }));
  expect(chips()).toEqual(['rows.csv · ~10k tokens']);
  press('Enter');
  expect(actions.prompts.send).toHaveBeenCalledOnce();
});

it('is refused in a sentence, which can be dismissed', async () => {
  const actions = panelActions();
  render(panelPage({}, actions));
  await drop('model.bin');
  expect(screen.getByRole('alert').textContent).toContain(
    'It is not attached.'
  );
  fireEvent.click(screen.getByRole('button', { name: 'Dismiss' }));
  expect(screen.queryByRole('alert')).toBeNull();

  await paste([file('huge.csv', MAX_FILE_BYTES + 1_000_000)]);
  expect(screen.getByRole('alert').textContent).toContain(
    'huge.csv has 7.0 MB; at most 6 MB can be attached.'
  );
  expect(actions.prompts.attach).toHaveBeenCalledOnce();
});
