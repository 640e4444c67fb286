// @vitest-environment jsdom
/** Runs of cells that the kernel asks for. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { describe, expect, it, vi } from 'vitest';
import type { ActOnCells, CellsAnswer } from '../../../src/kernel/cellAnswers';
import type { ILink } from '../../../src/kernel/kernelLink';
import type { RunCells } from '../../../src/notebook/cells/cellEdits';
import { runRequestedCells } from '../../../src/notebook/cells/cellRuns';

interface ISentRequest {
  channel: string;
  header: { msg_type: string; session: string };
  content: Record<string, unknown>;
  metadata: Record<string, unknown>;
}

interface ICellOptions {
  type?: string;
  tags?: string[];
}

/** A notebook with one cell, and what its kernel was sent. */
function opened(
  source: string,
  { type = 'code', tags = [] }: ICellOptions = {}
) {
  const sent: ISentRequest[] = [];
  const kernel = {
    clientId: 'page',
    username: 'me',
    requestExecute: vi.fn(),
    sendControlMessage: (message: ISentRequest) => {
      sent.push(message);
      return { done: Promise.resolve() };
    }
  };
  const model = {
    id: 'cell-a',
    type,
    getMetadata: (key: string) => (key === 'tags' ? tags : undefined),
    sharedModel: { getSource: () => source }
  };
  const panel = {
    isDisposed: false,
    context: { localPath: 'a.ipynb', model: { cells: [model] } },
    sessionContext: {
      isReady: true,
      pendingInput: true,
      kernelDisplayStatus: 'initializing',
      session: { path: 'a.ipynb', kernel: kernel as object | null }
    },
    content: {
      mode: 'edit',
      activeCell: null,
      isSelected: () => false,
      widgets: [{ model, node: document.createElement('div') }]
    }
  };
  /** Runs cells like JupyterLab, as far as it matters here. */
  const runCells = vi.fn<RunCells>(async (notebook, [cell], context) => {
    notebook.mode = 'command';
    await Promise.resolve();
    if (context?.pendingInput === true) {
      return false;
    }
    const code = cell?.model.sharedModel.getSource() ?? '';
    context?.session?.kernel?.requestExecute(
      { code, stop_on_error: true },
      false,
      { cellId: 'cell-a', palimpsest_run: 'of the file' }
    );
    return true;
  });
  let act: ActOnCells = () => undefined;
  const link = {
    serveCells: (served: ActOnCells) => {
      act = served;
      return () => undefined;
    }
  } as unknown as ILink;
  runRequestedCells(panel as unknown as NotebookPanel, link, runCells);
  const run = (expected = source, cell = 'cell-a', notebook = 'a.ipynb') =>
    act({
      kind: 'run-cell',
      request: 'run-1',
      client: 'me',
      notebook,
      cell,
      source: expected
    });
  return { kernel, panel, run, runCells, sent };
}

describe('a run that the kernel asks for', () => {
  it('is sent on the control channel with its id, and answered then', async () => {
    const { kernel, run, sent } = opened('1 + 1');

    expect(await run()).toEqual({ results: [{ cell: 'cell-a' }] });

    expect(sent).toHaveLength(1);
    expect(sent[0]).toMatchObject({
      channel: 'control',
      header: { msg_type: 'execute_request', session: 'page' },
      content: {
        code: '1 + 1',
        silent: false,
        store_history: true,
        allow_stdin: true,
        stop_on_error: false
      },
      metadata: { cellId: 'cell-a', palimpsest_run: 'run-1' }
    });
    expect(kernel.requestExecute).not.toHaveBeenCalled();
  });

  it('leaves the reader where they type', async () => {
    const { panel, run } = opened('1');
    panel.content.activeCell = panel.content.widgets[0] as never;

    await run();

    expect(panel.content.mode).toBe('edit');
  });

  it.each<[string, ReturnType<typeof opened>, CellsAnswer]>([
    [
      'a cell that changed',
      opened('2'),
      { results: [{ cell: 'cell-a', problem: 'changed', source: '2' }] }
    ],
    [
      'a hidden cell',
      opened('1', { tags: ['agent-hidden'] }),
      { results: [{ cell: 'cell-a', problem: 'hidden' }] }
    ],
    [
      'a prompt',
      opened('%%agent\nhi'),
      { results: [{ cell: 'cell-a', problem: 'agent' }] }
    ],
    [
      'text',
      opened('1', { type: 'markdown' }),
      { results: [{ cell: 'cell-a', problem: 'locked' }] }
    ]
  ])('is refused for %s', async (_name, { run, runCells }, answer) => {
    expect(await run('1')).toEqual(answer);
    expect(runCells).not.toHaveBeenCalled();
  });

  it('is refused where there is no such cell, notebook or kernel', async () => {
    const { panel, run } = opened('1');

    expect(await run('1', 'gone')).toEqual({
      results: [{ cell: 'gone', problem: 'missing' }]
    });
    expect(run('1', 'cell-a', 'b.ipynb')).toBeUndefined();
    panel.sessionContext.session.kernel = null;
    expect(await run()).toEqual({ refusal: 'no-kernel' });
    panel.isDisposed = true;
    expect(await run()).toEqual({ refusal: 'closed' });
  });

  it('is refused where the page sent no request', async () => {
    const { run, runCells } = opened('1');
    runCells.mockResolvedValue(false);

    expect(await run()).toEqual({ refusal: 'no-kernel' });
    runCells.mockRejectedValue(new Error('gone'));
    expect(await run()).toEqual({ refusal: 'no-kernel' });
  });
});
