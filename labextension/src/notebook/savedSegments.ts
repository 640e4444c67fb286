/**
 * Finds what we wrote into the cells of a notebook.
 */
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONValue } from '@lumino/coreutils';
import { readSegment, SEGMENT_MIME, type ISegment } from '../protocol/segment';

type Data = Record<string, PartialJSONValue>;

/** One stretch of an answer, as a cell holds it. */
export interface ISavedSegment {
  cell: ICodeCellModel;
  segment: ISegment;
  /** Makes other forms, by MIME type, of those that its output has. */
  change: (make: (data: Data) => Data) => void;
}

/** Yields every stretch in a notebook, cell by cell. */
export function* segmentsIn(panel: NotebookPanel): Iterable<ISavedSegment> {
  for (const { model } of panel.content.widgets) {
    if (model.type === 'code') {
      yield* segmentsInCell(model as ICodeCellModel);
    }
  }
}

/** Yields every stretch in a cell. */
export function* segmentsInCell(cell: ICodeCellModel): Iterable<ISavedSegment> {
  const { outputs } = cell;
  for (let index = 0; index < outputs.length; index += 1) {
    const output = outputs.get(index);
    const segment = readSegment(output.data[SEGMENT_MIME]);
    if (segment !== null) {
      yield {
        cell,
        segment,
        change: make => {
          const saved = output.toJSON();
          outputs.set(index, { ...saved, data: make(saved.data as Data) });
        }
      };
    }
  }
}
