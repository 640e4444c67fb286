// @vitest-environment jsdom
/** What can be done with a listing in an answer. */
import { act, fireEvent, render, screen, within } from '@testing-library/react';
import { describe, expect, it, vi } from 'vitest';
import type { NotebookPart } from '../../../src/protocol/generated';
import { proposedFix } from '../../../src/state/lines/proposedFix';
import { CellActionsProvider } from '../../../src/views/actions/cells';
import { HostProvider, type IHost } from '../../../src/views/host';
import { ProposedFixProvider } from '../../../src/views/parts/codeActions';
import { SegmentView } from '../../../src/views/segment/segmentView';
import * as build from '../../builders';
import { cells as cellActions } from '../../panelActions';
import { HOST } from '../../plainHost';

const FAILED = 'x = 1\nx / 0';
const FIXED = 'x = 1\nx / 2';

function error(source?: string): NotebookPart {
  return {
    id: 'prt_error',
    session_id: 'ses_1',
    message_id: 'msg_1',
    type: 'notebook',
    about: 'error',
    text: '',
    cells: [
      {
        serial: 4,
        number: 4,
        cell_id: 'cell',
        status: 'error',
        version: 1,
        ...(source === undefined ? {} : { source })
      }
    ],
    names: [],
    omitted: [],
    edits: [],
    kernel: '',
    through: 4,
    hidden: 0,
    reviews: []
  };
}

interface IDrawn {
  actions?: ReturnType<typeof cellActions> | null;
  prompt?: NotebookPart[];
  live?: boolean;
  host?: IHost;
}

function draw(
  answer: string,
  {
    actions = cellActions(),
    prompt = [],
    live = false,
    host = HOST
  }: IDrawn = {}
) {
  const segment = build.segment([build.assistant([build.text(answer)])]);
  render(
    <HostProvider value={host}>
      <CellActionsProvider value={actions}>
        <ProposedFixProvider value={proposedFix(prompt, segment.messages)}>
          <SegmentView segment={segment} isLive={live} />
        </ProposedFixProvider>
      </CellActionsProvider>
    </HostProvider>
  );
  return actions ?? cellActions();
}

const fence = (code: string, language = 'python') =>
  `\`\`\`${language}\n${code}\n\`\`\``;
const answer = `The divisor is zero.\n\n${fence(FIXED)}\n\nThat is all.`;
const names = () =>
  screen.getAllByRole('button').map(({ textContent }) => textContent);

async function press(name: string) {
  await act(async () => {
    fireEvent.click(screen.getByRole('button', { name }));
    await Promise.resolve();
  });
}

const status = () => screen.getByRole('status').textContent;

describe('a listing in an answer', () => {
  it('is put into a new cell', async () => {
    const actions = draw(answer);

    await press('Insert below');

    expect(actions.insertBelow.mock.calls).toEqual([[FIXED]]);
    expect(status()).toBe('The code is in a new cell.');
    expect(names()).toEqual(['Insert below']);
  });

  it('says why it was not', async () => {
    const actions = draw(answer);
    actions.insertBelow.mockResolvedValue('The notebook is read-only.');

    await press('Insert below');

    expect(status()).toBe('The notebook is read-only.');
  });

  it('is copied where the host can, also without a notebook', async () => {
    const copy = vi.fn(() => Promise.resolve());
    draw(answer, { actions: null, host: { ...HOST, copy } });

    await press('Copy');

    expect(names().slice(0, -1)).toEqual(['Copy']); // the last copies the answer
    expect(copy).toHaveBeenCalledWith(FIXED);
    expect(status()).toBe('Copied.');
  });

  it('is copied beside a table and within a list, each by its own button', async () => {
    const copied: string[] = [];
    const copy = (text: string) => Promise.resolve(void copied.push(text));
    const table = '| island | mass |\n|---|---:|\n| Biscoe | 4,716 |';
    const told = `${table}\n\n${fence('select 1', 'sql')}\n\n1. Or:\n   \`\`\`sh\n   ls -l\n   \`\`\``;
    draw(told, { actions: null, host: { ...HOST, copy } });

    for (const name of ['Copy as TSV', 'Copy as Markdown', 'Copy the code']) {
      for (const button of screen.getAllByRole('button', { name })) {
        fireEvent.click(button);
        await act(() => Promise.resolve());
      }
    }

    expect(copied).toEqual([
      'island\tmass\nBiscoe\t4,716',
      table,
      'select 1',
      'ls -l'
    ]);
  });

  it('has no buttons where nothing can be done with it', () => {
    draw(answer, { actions: null });

    expect(screen.queryAllByRole('button')).toEqual([]);
  });

  it('has buttons without a language, and none in another', () => {
    draw(`${fence('a')}\n\n${fence('b', '')}\n\n${fence('c', 'bash')}`);

    expect(names()).toEqual(['Insert below', 'Insert below']);
  });

  it('has none before it is closed', () => {
    draw(`Look:\n\n\`\`\`python\n${FIXED}`, { live: true });

    expect(screen.queryAllByRole('button')).toEqual([]);
  });
});

describe('the corrected cell in an answer about an error', () => {
  const about = { prompt: [error(FAILED)] };

  it('shows what it changes', () => {
    draw(answer, about);
    const head = screen.getByRole('button', { name: 'Changes to cell 4' });

    fireEvent.click(head);

    const diff = screen.getByRole('group', { name: 'What it would change' });
    expect(diff.textContent).toContain('-x / 0');
    expect(diff.textContent).toContain('+x / 2');
  });

  it('replaces the cell only as it was when it failed', async () => {
    const actions = draw(answer, about);

    await press('Replace the cell');

    expect(actions.replace.mock.calls).toEqual([['cell', FAILED, FIXED]]);
    expect(status()).toBe('Cell 4 was replaced. Undo brings it back.');
  });

  it('says that a cell that was changed was not replaced, and does not run it', async () => {
    const actions = draw(answer, about);
    const changed = 'The cell was changed since; nothing was replaced.';
    actions.replace.mockResolvedValue(changed);

    await press('Run again');

    expect(status()).toBe(changed);
    expect(actions.run).not.toHaveBeenCalled();
  });

  it('replaces the cell and runs it', async () => {
    const actions = draw(answer, about);

    await press('Run again');

    expect(actions.replace.mock.calls).toEqual([['cell', FAILED, FIXED]]);
    expect(actions.run.mock.calls).toEqual([['cell']]);
    expect(status()).toBe('The cell runs.');
  });

  it('runs a replaced cell as the user has changed it', async () => {
    const actions = draw(answer, about);
    await press('Replace the cell');
    actions.replace.mockResolvedValue('The cell was changed since.');

    await press('Run again');

    expect(actions.run.mock.calls).toEqual([['cell']]);
  });

  it('is the first Python listing alone', () => {
    draw(`${fence('ls', 'bash')}\n\n${answer}\n\n${fence('other')}`, about);

    expect(names()).toEqual([
      'Changes to cell 4',
      'Replace the cell',
      'Run again',
      'Insert below',
      'Insert below'
    ]);
  });

  it('is not offered where the failed cell’s source is unknown', () => {
    draw(answer, { prompt: [error()] });

    expect(names()).toEqual(['Insert below']);
  });

  it('shows HTML in code as text', () => {
    const hostile =
      '"<img src=x onerror=alert(1)>"\n"</pre><script>1</script>"';
    draw(fence(hostile), { prompt: [error('<b onclick="1">bold</b>')] });

    const diff = screen.getByRole('group', { name: 'What it would change' });
    expect(diff.textContent).toContain('-<b onclick="1">bold</b>');
    expect(diff.textContent).toContain('+"<img src=x onerror=alert(1)>"');
    expect(document.querySelector('img, script, b')).toBeNull();
    expect(within(diff).queryAllByRole('button')).toEqual([]);
  });

  it('shows the changes first, and replaces nothing by its main button, where little of the cell is left', () => {
    const answer = `As in:\n\n${fence('import math\nmath.pi')}`;
    draw(answer, { prompt: [error(FAILED)] });

    const changes = screen.getByRole('button', { name: 'Changes to cell 4' });
    const main = document.querySelectorAll('.plm-CodeActions [data-main]');
    expect(changes.getAttribute('aria-expanded')).toBe('true');
    expect(screen.getByText(/look before you replace it/)).toBeTruthy();
    expect([...main].map(element => element.textContent)).toEqual([
      'Insert below'
    ]);
    expect(
      screen.getByRole('button', { name: 'Replace the cell' })
    ).toBeTruthy();
  });

  it('takes the listing that is like the cell, not an example before it', () => {
    const answer = `As in:\n\n${fence('import math\nmath.pi')}\n\nSo:\n\n${fence(FIXED)}`;
    const { messages } = build.segment([build.assistant([build.text(answer)])]);

    expect(proposedFix([error(FAILED)], messages)).toMatchObject({
      code: FIXED,
      isVeryDifferent: false
    });
  });

  it.each([
    ['penguin', 'penguins'],
    [
      'df["a"].mean()',
      'import pandas as pd\ndf = pd.read_csv("a.csv")\ndf["a"].mean()'
    ],
    ['for i in range(3)\n    print(i)', 'for i in range(3):\n    print(i)']
  ])('takes a correction of %j for one', (source, code) => {
    const { messages } = build.segment([
      build.assistant([build.text(fence(code))])
    ]);

    expect(proposedFix([error(source)], messages)?.isVeryDifferent).toBe(false);
  });
});
