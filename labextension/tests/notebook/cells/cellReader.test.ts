// @vitest-environment jsdom
/** What a page tells the kernel of a notebook's cells. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import { describe, expect, it } from 'vitest';
import { cellReader } from '../../../src/notebook/cells/cellReader';

interface ICell {
  id: string;
  source?: string;
  type?: string;
  tags?: string[];
  count?: number | null;
  outputs?: object[];
  origin?: object;
}

function read(cells: ICell[], wanted: object = {}) {
  const panel = {
    context: {
      localPath: 'work/a.ipynb',
      model: {
        deletedCells: ['gone'],
        cells: cells.map(
          ({
            id,
            source = '',
            type = 'code',
            tags,
            count = null,
            outputs,
            origin
          }) => ({
            id,
            type,
            executionCount: count,
            getMetadata: () => tags,
            sharedModel: {
              getSource: () => source,
              getMetadata: () => origin
            },
            outputs: {
              length: outputs?.length ?? 0,
              get: (index: number) => ({ toJSON: () => outputs?.[index] })
            }
          })
        )
      }
    }
  };
  return cellReader(panel as unknown as NotebookPanel)({
    kind: 'cells',
    request: 'r',
    output_chars: 0,
    images: false,
    ...wanted
  });
}

const PRINTED = { output_type: 'stream', name: 'stdout', text: 'abcdefghij' };
const DRAWN = {
  output_type: 'display_data',
  data: { 'text/plain': ['<Fig', 'ure>'], 'image/png': 'iVBO', 'x/y': { a: 1 } }
};

describe('the cells of a notebook', () => {
  it('are told in order, with source and count, and without outputs that nobody asked for', () => {
    const told = read([
      { id: 'a', source: 'x = 1', count: 4, outputs: [PRINTED] },
      { id: 'b', source: '# Title', type: 'markdown' }
    ]);

    expect(told).toEqual({
      path: 'work/a.ipynb',
      deleted: ['gone'],
      visible: true,
      cells: [
        {
          id: 'a',
          kind: 'code',
          source: 'x = 1',
          number: 4,
          hidden: false,
          outputs: [],
          dropped: 0
        },
        {
          id: 'b',
          kind: 'markdown',
          source: '# Title',
          hidden: false,
          outputs: [],
          dropped: 0
        }
      ]
    });
  });

  it('are told with the session that wrote them', () => {
    const origin = { session: 'ses_1', message: 'msg_1', call: 'call_1' };
    const { cells } = read([
      { id: 'a', origin },
      { id: 'b', origin: { session: 1 } }
    ]);

    expect(cells.map(({ session }) => session)).toEqual(['ses_1', undefined]);
  });

  it('keep everything but the id of one that is hidden', () => {
    const told = read(
      [{ id: 'a', source: 'KEPT', tags: ['agent-hidden'], outputs: [PRINTED] }],
      { output_chars: 100, images: true }
    );

    expect(told.cells).toEqual([
      { id: 'a', kind: 'code', hidden: true, outputs: [], dropped: 0 }
    ]);
  });

  it('cut outputs, and send pictures only where they are wanted', () => {
    const cells = [{ id: 'a', source: 'x', outputs: [PRINTED, DRAWN] }];

    expect(read(cells, { output_chars: 4 }).cells[0]?.outputs).toEqual([
      { ...PRINTED, text: 'ab\n[6 characters left out]\nij' },
      {
        output_type: 'display_data',
        data: {
          'text/plain': '<F\n[4 characters left out]\ne>',
          'image/png': '',
          'x/y': ''
        }
      }
    ]);
    expect(
      read(cells, { output_chars: 4, images: true }).cells[0]?.outputs[1]
    ).toMatchObject({ data: { 'image/png': 'iVBO' } });
  });

  it('are cut as Python counts characters', () => {
    const text = '😀'.repeat(8);
    const told = read(
      [{ id: 'a', source: 'x', outputs: [{ ...PRINTED, text }] }],
      { output_chars: 8 }
    );

    expect(told.cells[0]?.outputs[0]).toMatchObject({ text });
  });

  it('leave out what is beyond the limits of a notebook', () => {
    const many = Array.from({ length: 30 }, (_, n) => ({
      id: `${n}`,
      source: 'x'.repeat(30_000),
      outputs: Array.from({ length: 80 }, () => PRINTED)
    }));
    const { cells } = read(many, { output_chars: 100 });

    expect(cells).toHaveLength(30);
    expect(cells.filter(({ source }) => source !== undefined)).toHaveLength(13);
    expect(cells[0]).toMatchObject({ dropped: 20 });
    expect(JSON.stringify(cells).length).toBeLessThan(2_000_000);
  });

  it('tell no answers of the agent, and only the cell that is wanted', () => {
    const cells = [
      { id: 'a', source: '%%agent\nhi', outputs: [DRAWN] },
      { id: 'b', source: 'x', outputs: [DRAWN] }
    ];

    expect(read(cells, { output_chars: 9 }).cells[0]?.outputs).toEqual([]);
    expect(read(cells, { cell: 'b' }).cells.map(({ id }) => id)).toEqual(['b']);
  });
});
