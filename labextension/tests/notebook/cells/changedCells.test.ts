// @vitest-environment jsdom
/** Changes of cells for the kernel, over a real shared model. */
import { YNotebook } from '@jupyter/ydoc';
import type { NotebookPanel } from '@jupyterlab/notebook';
import { describe, expect, it } from 'vitest';
import { applyUpdate, encodeStateAsUpdate } from 'yjs';
import type { ActOnCells, CellsAnswer } from '../../../src/kernel/cellAnswers';
import type { ILink } from '../../../src/kernel/kernelLink';
import {
  dropOrigins,
  dropRewrittenOrigins,
  originOf
} from '../../../src/notebook/cells/cellOrigins';
import { changeRequestedCells } from '../../../src/notebook/cells/changedCells';
import type { CellChange } from '../../../src/protocol/generated';

const ORIGIN = { session: 'ses_1', message: 'msg_1', call: 'c1', request: 12 };

/** An open notebook with code cells `a`, `b`, …. */
function opened(sources: string[], isOneUndo = false) {
  const sharedModel = YNotebook.create({
    disableDocumentWideUndoRedo: !isOneUndo
  });
  sharedModel.deleteCellRange(0, sharedModel.cells.length);
  sharedModel.insertCells(
    0,
    sources.map((source, index) => ({
      cell_type: 'code',
      id: 'abcdefgh'.charAt(index),
      source,
      metadata: { trusted: true, tags: ['kept'] },
      outputs: [{ output_type: 'stream', name: 'stdout', text: `of ${source}` }]
    }))
  );
  sharedModel.clearUndoHistory();
  const models = () =>
    sharedModel.cells.map(shared => ({
      id: shared.id,
      type: shared.cell_type,
      sharedModel: shared,
      getMetadata: (key: string) => shared.getMetadata(key)
    }));
  const model = {
    readOnly: false,
    sharedModel,
    deletedCells: [] as string[],
    get cells() {
      return models();
    }
  };
  const panel = {
    isDisposed: false,
    context: { localPath: 'a.ipynb', model },
    content: {
      mode: 'command',
      activeCellIndex: -1,
      activeCell: null,
      widgets: []
    }
  } as unknown as NotebookPanel;
  let act: ActOnCells = () => undefined;
  const link = {
    serveCells: (served: ActOnCells) => {
      act = served;
      return () => undefined;
    }
  } as unknown as ILink;
  changeRequestedCells(panel, link);
  const end = dropRewrittenOrigins(panel);
  const make = (changes: CellChange[], origin: object | null = ORIGIN) =>
    act({
      kind: 'change-cells',
      request: 'r',
      client: 'me',
      notebook: 'a.ipynb',
      changes,
      ...(origin === null ? {} : { origin: ORIGIN })
    }) as CellsAnswer;
  const now = () => sharedModel.cells.map(cell => cell.getSource());
  const cell = (id: string) => {
    const found = sharedModel.cells.find(known => known.id === id);
    if (found === undefined) {
      throw new Error(`no cell ${id}`);
    }
    return found;
  };
  return { act: () => act, cell, end, make, model, now, panel, sharedModel };
}

function change(
  action: CellChange['action'],
  cell: string,
  fields: Partial<CellChange> = {}
): CellChange {
  return { action, cell, kind: 'code', ...fields };
}

const SEVERAL = [
  change('edit', 'a', { old: '1', new: '10' }),
  change('insert', 'x', { after: 'a', new: '# x', kind: 'markdown' }),
  change('move', 'c', { old: '3' }),
  change('delete', 'b', { old: '2' })
];

describe.each([false, true])('changes of cells (one undo: %s)', isOneUndo => {
  it('are made together, and are one step of the notebook’s undo', () => {
    const { make, now, sharedModel, cell } = opened(['1', '2', '3'], isOneUndo);
    const before = sharedModel.toJSON().cells;

    const { results } = make(SEVERAL);

    expect(results?.map(({ problem }) => problem)).toEqual(
      SEVERAL.map(() => undefined)
    );
    expect(now()).toEqual(['3', '10', '# x']);
    expect(cell('x').cell_type).toBe('markdown');
    expect(cell('c').toJSON()).toEqual(before[2]);
    const after = sharedModel.toJSON().cells;

    sharedModel.undo();
    expect(sharedModel.toJSON().cells).toEqual(before);
    expect(sharedModel.canUndo()).toBe(false);

    sharedModel.redo();
    expect(sharedModel.toJSON().cells).toEqual(after);
  });

  it('are apart from what a person types before and after', () => {
    const { make, now, cell } = opened(['1'], isOneUndo);
    cell('a').updateSource(1, 1, ' # before');
    make([change('edit', 'a', { old: '1 # before', new: '2 # before' })]);
    cell('a').updateSource(10, 10, ' after');
    expect(now()).toEqual(['2 # before after']);

    cell('a').undo();
    expect(now()).toEqual(['2 # before']);
    cell('a').undo();
    expect(now()).toEqual(['1 # before']);
    cell('a').undo();
    expect(now()).toEqual(['1']);
    cell('a').redo();
    expect(now()).toEqual(['1 # before']);
  });

  it('carry their origin until a person rewrites the source', () => {
    const { make, cell, now } = opened(['1', '2'], isOneUndo);
    make([
      change('edit', 'a', { old: '1', new: '10' }),
      change('insert', 'x', { after: 'a', new: 'x' }),
      change('move', 'b', { old: '2' })
    ]);
    expect(originOf(cell('a'))).toEqual(ORIGIN);
    expect(originOf(cell('x'))).toEqual(ORIGIN);
    expect(originOf(cell('b'))).toBeNull();

    cell('a').updateSource(2, 2, '0');
    expect(now()[1]).toBe('100');
    expect(originOf(cell('a'))).toBeNull();
    expect(originOf(cell('x'))).toEqual(ORIGIN);

    cell('a').undo();
    expect(now()[1]).toBe('10');
    expect(originOf(cell('a'))).toEqual(ORIGIN);
    cell('a').redo();
    expect(originOf(cell('a'))).toBeNull();
  });
});

describe('changes of cells', () => {
  it('can be undone in the cell alone', () => {
    const { make, cell, now, sharedModel } = opened(['1', '2']);
    make([
      change('edit', 'a', { old: '1', new: '10' }),
      change('edit', 'b', { old: '2', new: '20' })
    ]);

    cell('a').undo();
    expect(now()).toEqual(['1', '20']);
    expect(originOf(cell('a'))).toBeNull();
    expect(originOf(cell('b'))).toEqual(ORIGIN);

    sharedModel.undo();
    expect(now()).toEqual(['1', '2']);
  });

  it('are all left out where one cannot be made', () => {
    const { make, now, cell, sharedModel } = opened(['1', '2', '3', '4']);
    cell('b').setMetadata('tags', ['agent-hidden']);
    cell('c').setMetadata('editable', false);
    cell('d').setMetadata('deletable', false);

    const { results } = make([
      change('edit', 'a', { old: '1', new: '10' }),
      change('edit', 'a', { old: '1', new: '11' }),
      change('edit', 'b', { old: '2', new: '20' }),
      change('edit', 'c', { old: '3', new: '30' }),
      change('delete', 'd', { old: '4' }),
      change('delete', 'z', { old: '' })
    ]);

    expect(results).toEqual([
      { cell: 'a' },
      { cell: 'a', problem: 'changed', source: '10' },
      { cell: 'b', problem: 'hidden' },
      { cell: 'c', problem: 'locked' },
      { cell: 'd', problem: 'locked' },
      { cell: 'z', problem: 'missing' }
    ]);
    expect(now()).toEqual(['1', '2', '3', '4']);
    expect(sharedModel.canUndo()).toBe(false);
  });

  it('are refused where the notebook is read-only or closed, and left to the page that shows another', () => {
    const { make, act, panel, model, now } = opened(['1']);
    const edit = [change('edit', 'a', { old: '1', new: '2' })];
    model.readOnly = true;
    expect(make(edit)).toEqual({ refusal: 'read-only' });
    (panel as { isDisposed: boolean }).isDisposed = true;
    expect(make(edit)).toEqual({ refusal: 'closed' });
    const other = { request: 'r', client: 'me', notebook: 'b.ipynb' };
    expect(
      act()({ kind: 'change-cells', ...other, changes: edit })
    ).toBeUndefined();
    expect(now()).toEqual(['1']);
  });

  it('bring a deleted cell back with all it had, trusted if this page deleted it so', () => {
    const { make, model, sharedModel } = opened(['1', '2']);
    const before = sharedModel.toJSON().cells;
    const { results } = make([change('delete', 'b', { old: '2' })]);
    const told = results?.[0]?.removed;
    expect(told).toEqual(before[1]);
    expect(results?.[0]?.was_after).toBe('a');
    expect(model.deletedCells).toEqual(['b']);

    const back = change('insert', 'b', {
      after: 'a',
      new: '2',
      restored: JSON.parse(JSON.stringify(told)) as Record<string, unknown>
    });
    make([back], null);

    expect(sharedModel.toJSON().cells).toEqual(before);
    expect(model.deletedCells).toEqual([]);
  });

  it('do not trust a restored cell that this page did not delete', () => {
    const { make, cell } = opened(['1']);
    const evil = {
      output_type: 'display_data',
      data: { 'text/html': '<script>1</script>' },
      metadata: {}
    };
    const restored = {
      cell_type: 'code',
      metadata: { trusted: true, tags: ['x'] },
      outputs: [evil, { output_type: 'nonsense' }, 7]
    };
    make([change('insert', 'x', { new: '2', restored })], null);

    expect(cell('x').toJSON()).toMatchObject({
      source: '2',
      metadata: { tags: ['x'] },
      outputs: [evil]
    });
    expect(cell('x').getMetadata('trusted')).toBeUndefined();
  });

  it('keep outputs that are too large for a message in the page', () => {
    const { make, cell, sharedModel } = opened(['1', '2']);
    const text = 'x'.repeat(300_000);
    (cell('b') as { setOutputs?: (outputs: object[]) => void }).setOutputs?.([
      { output_type: 'stream', name: 'stdout', text }
    ]);
    const before = sharedModel.toJSON().cells;
    const { results } = make([change('delete', 'b', { old: '2' })]);
    const restored = results?.[0]?.removed;
    expect(JSON.stringify(restored).length).toBeLessThan(1000);
    expect(JSON.stringify(restored)).toContain('took too much space');

    make([change('insert', 'b', { after: 'a', new: '2', restored })], null);

    expect(sharedModel.toJSON().cells).toEqual(before);
  });

  it('keep their origin in the pages of others, until somebody rewrites the source in theirs', () => {
    const mine = opened(['1', '2']);
    const theirs = opened([]);
    const update = () => encodeStateAsUpdate(mine.sharedModel.ydoc);
    applyUpdate(theirs.sharedModel.ydoc, update());
    expect(theirs.now()).toEqual(['1', '2']);

    mine.make([change('edit', 'a', { old: '1', new: '10' })]);
    mine.make([change('edit', 'b', { old: '2', new: '20' })]);
    applyUpdate(theirs.sharedModel.ydoc, update());
    expect(originOf(theirs.cell('a'))).toEqual(ORIGIN);

    mine.cell('a').updateSource(0, 0, '# ');
    theirs.cell('b').updateSource(0, 0, '# ');
    applyUpdate(theirs.sharedModel.ydoc, update());
    expect(theirs.now()).toEqual(['# 10', '# 20']);
    expect(originOf(theirs.cell('a'))).toBeNull();
    expect(originOf(theirs.cell('b'))).toBeNull();
    theirs.cell('a').undo();
    expect(theirs.now()).toEqual(['# 10', '# 20']);
  });

  it('can be stripped of their origins, and one undo brings them back', () => {
    const { make, cell, sharedModel } = opened(['1', '2']);
    make([
      change('edit', 'a', { old: '1', new: '10' }),
      change('edit', 'b', { old: '2', new: '20' })
    ]);

    dropOrigins(sharedModel);
    expect(JSON.stringify(sharedModel.toJSON())).not.toContain('palimpsest');
    expect(cell('a').getMetadata('tags')).toEqual(['kept']);

    sharedModel.undo();
    expect(originOf(cell('a'))).toEqual(ORIGIN);
    expect(originOf(cell('b'))).toEqual(ORIGIN);
  });

  it('take metadata of another form for none of theirs', () => {
    const { cell } = opened(['1']);
    cell('a').setMetadata('palimpsest', { session: 1 });
    expect(originOf(cell('a'))).toBeNull();
  });
});
