// @vitest-environment jsdom
/** Code of an answer in the cells of a notebook. */
import { YNotebook } from '@jupyter/ydoc';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { describe, expect, it, vi } from 'vitest';
import { cellEdits } from '../../../src/notebook/cells/cellEdits';
import { HOST } from '../../plainHost';

/** A notebook of code cells over a real shared model. */
function notebook(...sources: string[]) {
  const sharedModel = YNotebook.create();
  sharedModel.insertCells(
    0,
    sources.map((source, n) => ({ cell_type: 'code', id: `cell-${n}`, source }))
  );
  sharedModel.clearUndoHistory();
  const panel = {
    isDisposed: false,
    context: { model: { readOnly: false, sharedModel } },
    sessionContext: { session: { kernel: { id: 'kernel' } } },
    content: {
      widgets: sharedModel.cells.map(shared => ({
        model: { id: shared.id, sharedModel: shared }
      })),
      mode: 'edit',
      activeCellIndex: 0,
      deselectAll: vi.fn(),
      scrollToItem: vi.fn()
    }
  };
  const runCells = vi.fn(() => Promise.resolve(true));
  const actions = cellEdits(
    {
      notebook: () => panel as unknown as NotebookPanel,
      indexAbove: () => 0
    },
    runCells,
    HOST.words
  );
  const now = () => sharedModel.cells.map(cell => cell.getSource());
  return { actions, now, panel, runCells, sharedModel };
}

describe('code of an answer', () => {
  it('replaces a cell that is as it was, and undo brings it back', async () => {
    const { actions, now, sharedModel } = notebook('1 / 0', '2');

    const problem = await actions.replace('cell-0', '1 / 0', '1 / 2');

    expect(problem).toBe('');
    expect(now()).toEqual(['1 / 2', '2']);

    sharedModel.undo();

    expect(now()).toEqual(['1 / 0', '2']);
  });

  it('is one step of undo, apart from what was typed before', async () => {
    const { actions, now, sharedModel } = notebook('1 / 0');
    sharedModel.cells[0]?.setSource('1 / 0  # typed');

    await actions.replace('cell-0', '1 / 0  # typed', '1 / 2');
    sharedModel.undo();

    expect(now()).toEqual(['1 / 0  # typed']);
  });

  it('does not replace a cell that was changed since', async () => {
    const { actions, now } = notebook('1 / 0  # mine');

    const problem = await actions.replace('cell-0', '1 / 0', '1 / 2');

    expect(problem).toBe('The cell was changed since; nothing was replaced.');
    expect(now()).toEqual(['1 / 0  # mine']);
  });

  it('leaves alone a cell that holds it already, is locked, or is gone', async () => {
    const { actions, now, sharedModel } = notebook('new', 'old');
    sharedModel.cells[1]?.setMetadata('editable', false);

    expect(await actions.replace('cell-0', 'old', 'new')).toBe('');
    expect(await actions.replace('cell-1', 'old', 'new')).toBe(
      'The cell is locked; nothing was replaced.'
    );
    expect(await actions.replace('cell-9', 'old', 'new')).toBe(
      'The cell is no longer in the notebook.'
    );
    expect(now()).toEqual(['new', 'old']);
  });

  it('is inserted below as a code cell, and undo removes it', async () => {
    const { actions, now, runCells, sharedModel, panel } = notebook('a', 'b');

    expect(await actions.insertBelow('<b>1</b>')).toBe('');

    expect(now()).toEqual(['a', '<b>1</b>', 'b']);
    expect(panel.content).toMatchObject({
      activeCellIndex: 1,
      mode: 'command'
    });
    expect(runCells).not.toHaveBeenCalled();

    sharedModel.undo();

    expect(now()).toEqual(['a', 'b']);
  });

  it('changes nothing in a notebook that is read-only or closed', async () => {
    const { actions, now, panel } = notebook('a');
    panel.context.model.readOnly = true;

    expect(await actions.insertBelow('b')).toBe('The notebook is read-only.');

    panel.isDisposed = true;

    expect(await actions.replace('cell-0', 'a', 'b')).toBe(
      'The notebook is closed.'
    );
    expect(now()).toEqual(['a']);
  });

  it('runs the cell itself, in its own notebook', async () => {
    const { actions, panel, runCells } = notebook('a', 'b');

    expect(await actions.run('cell-1')).toBe('');

    expect(runCells.mock.calls).toEqual([
      [panel.content, [panel.content.widgets[1]], panel.sessionContext]
    ]);
  });
});
