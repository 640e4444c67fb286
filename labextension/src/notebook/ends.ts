/**
 * Writes the end of a turn into the notebook, where its cell did not hear of it.
 *
 * Updates of an output reach only the page that ran the cell. After a reload the page asks the
 * kernel for the last form of what it shows, and writes it into the document.
 */
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONValue } from '@lumino/coreutils';
import type { ILink } from '../kernel/link';
import { readSegment, SEGMENT_MIME, type ISegment } from '../protocol/segment';
import { isStale, isWhole } from '../state/live';

/** So long after a turn the cell itself has had its chance to write the end. */
const PATIENCE_MS = 1500;

/** Looks after the outputs of a notebook; returns how to end that. */
export function writeEnds(panel: NotebookPanel, link: ILink): () => void {
  let timer: ReturnType<typeof setTimeout> | null = null;
  let works = false;
  const look = () => {
    timer = null;
    if (!works && !panel.isDisposed) {
      works = true;
      void writeStale(panel, link).finally(() => {
        works = false;
      });
    }
  };
  const unsubscribe = link.store.subscribe(() => {
    if (timer !== null) {
      clearTimeout(timer);
      timer = null;
    }
    if (link.state === 'ready' && !isBusy(link)) {
      timer = setTimeout(look, PATIENCE_MS);
    }
  });
  return () => {
    unsubscribe();
    if (timer !== null) {
      clearTimeout(timer);
    }
  };
}

async function writeStale(panel: NotebookPanel, link: ILink): Promise<void> {
  for (const { cell, segment } of [...stale(panel, link)]) {
    const { bundle } = await link.outcome('close', {
      session: segment.session,
      turn: segment.turn,
      start: segment.start,
      end: segment.end,
      first_step: segment.first_step,
      first_seq: segment.seq[0]
    });
    if (bundle !== undefined && !isBusy(link)) {
      put(cell, segment, bundle as Record<string, PartialJSONValue>);
    }
  }
}

interface IStale {
  cell: ICodeCellModel;
  segment: ISegment;
}

function* stale(panel: NotebookPanel, link: ILink): Iterable<IStale> {
  const { sessions } = link.store.getSnapshot();
  for (const { model } of panel.content.widgets) {
    if (model.type !== 'code') {
      continue;
    }
    const cell = model as ICodeCellModel;
    for (let index = 0; index < cell.outputs.length; index += 1) {
      const segment = readSegment(cell.outputs.get(index).data[SEGMENT_MIME]);
      if (segment === null) {
        continue;
      }
      const session = sessions.get(segment.session);
      if (
        session?.known === true &&
        session.transcript.status.type === 'idle' &&
        isStale(segment, session.transcript)
      ) {
        yield { cell, segment };
      }
    }
  }
}

/** Writes a bundle where its segment stands now; the cell may have changed meanwhile. */
function put(
  { outputs }: ICodeCellModel,
  segment: ISegment,
  bundle: Record<string, PartialJSONValue>
): void {
  for (let index = 0; index < outputs.length; index += 1) {
    const output = outputs.get(index);
    const now = readSegment(output.data[SEGMENT_MIME]);
    if (
      now !== null &&
      isWhole(now) === isWhole(segment) &&
      now.turn === segment.turn &&
      now.start?.part === segment.start?.part &&
      now.start?.offset === segment.start?.offset
    ) {
      outputs.set(index, {
        ...output.toJSON(),
        data: bundle
      });
      return;
    }
  }
}

function isBusy(link: ILink): boolean {
  const { current, sessions } = link.store.getSnapshot();
  const session = current === null ? undefined : sessions.get(current);
  return session !== undefined && session.transcript.status.type !== 'idle';
}
