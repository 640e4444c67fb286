/** Finds our saved segments in the cells of a notebook. */
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONValue } from '@lumino/coreutils';
import type { ILink } from '../../kernel/kernelLink';
import {
  readSegment,
  SEGMENT_MIME,
  type ISegment
} from '../../protocol/segment';
import { isBusy } from '../../state/session/status';
import type { ISessionView } from '../../state/store/kernelStore';

type Data = Record<string, PartialJSONValue>;

/** One segment saved in a cell's output. */
export interface ISavedSegment {
  cell: ICodeCellModel;
  segment: ISegment;
  /** Replaces the output's data, by MIME type. */
  change: (make: (data: Data) => Data) => void;
}

/** Yields the saved segments whose session is read completely and does nothing now, with that session. */
export function* segmentsOfIdleSessions(
  panel: NotebookPanel,
  { store }: ILink
): Iterable<[ISavedSegment, ISessionView]> {
  const { sessions } = store.getSnapshot();
  for (const saved of segmentsIn(panel)) {
    const session = sessions.get(saved.segment.session);
    if (session?.isLoaded === true && !isBusy(session.transcript)) {
      yield [saved, session];
    }
  }
}

/** Yields all saved segments of a notebook, cell by cell. */
export function* segmentsIn(panel: NotebookPanel): Iterable<ISavedSegment> {
  for (const { model } of panel.content.widgets) {
    if (model.type === 'code') {
      yield* segmentsInCell(model as ICodeCellModel);
    }
  }
}

/** Returns the text of an output's format, which a file may hold in lines; an empty one if there is none. */
export function savedText(text: PartialJSONValue | undefined): string {
  return (Array.isArray(text) ? text : [text])
    .filter(line => typeof line === 'string')
    .join('');
}

/** Yields all saved segments of a cell. */
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
