/**
 * Writes the final output of a turn into the notebook when its cell did not receive it, and marks what was removed.
 *
 * Output updates reach only the page that ran the cell. After a reload the page asks the kernel for
 * the final form of the outputs, and writes it into the document.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONValue } from '@lumino/coreutils';
import type { ILink } from '../../kernel/kernelLink';
import { SEGMENT_MIME } from '../../protocol/segment';
import {
  displayedSegment,
  isStale,
  isComplete
} from '../../state/display/liveSegment';
import { isBusy } from '../../state/session/status';
import { isRemoved } from '../../state/session/reverts';
import type { IWords } from '../../views/host';
import {
  savedText,
  segmentsOfIdleSessions,
  segmentsIn,
  segmentsInCell,
  type ISavedSegment
} from './savedSegments';

/** Milliseconds after a turn in which the cell itself may write its final output. */
const OUTPUT_WAIT_MS = 1500;

/** Milliseconds in which a kernel that restarts may still say how its turn ended, and the next one answer. */
const RESTART_MS = 10_000;

/** Keeps the outputs of a notebook complete; returns a function that stops this. */
export function completeOutputs(
  panel: NotebookPanel,
  link: ILink,
  words: IWords
): () => void {
  let timer: ReturnType<typeof setTimeout> | undefined;
  let isWorking = false;
  let wasReady = false;
  let before = link.state;
  let restarting: ReturnType<typeof setTimeout> | undefined;
  const completeStale = () => {
    if (!isWorking && !panel.isDisposed) {
      isWorking = true;
      void writeStale(panel, link).finally(() => {
        isWorking = false;
        if (!panel.isDisposed) {
          markRemoved(panel, link, words);
        }
      });
    }
  };
  const interrupt = () => {
    clearTimeout(restarting);
    restarting = undefined;
    if (wasReady && link.state !== 'ready' && !panel.isDisposed) {
      wasReady = false;
      writeInterrupted(panel, link, words);
    }
  };
  const unsubscribe = link.store.subscribe(() => {
    if (before !== link.state) {
      if (before === 'ready') {
        wasReady = true;
      }
      before = link.state;
    }
    if (link.state === 'absent' || link.state === 'dead') {
      interrupt();
    } else if (link.state === 'connecting' && wasReady) {
      restarting ??= setTimeout(interrupt, RESTART_MS);
    }
    clearTimeout(timer);
    if (link.state === 'ready' && !isCurrentBusy(link)) {
      timer = setTimeout(completeStale, OUTPUT_WAIT_MS);
    }
  });
  return () => {
    unsubscribe();
    clearTimeout(restarting);
    clearTimeout(timer);
  };
}

async function writeStale(panel: NotebookPanel, link: ILink): Promise<void> {
  const stale = [...segmentsOfIdleSessions(panel, link)].filter(
    ([{ segment }, { transcript }]) => isStale(segment, transcript)
  );
  for (const [saved] of stale) {
    const { segment } = saved;
    const { answer } = await link.outcome('close', {
      session: segment.session,
      turn: segment.turn,
      start: segment.start,
      end: segment.end,
      first_step: segment.first_step,
      first_seq: segment.seq[0]
    });
    if (answer !== undefined && !isCurrentBusy(link)) {
      writeBundle(saved, answer.bundle as Record<string, PartialJSONValue>);
    }
  }
}

/** The line of an unfinished call in the kernel's output (its symbols are in render/content/phrases.py). */
const RUNNING =
  /^[◐○]( .* · )(\*?)(?:running|being written|pending)\2(?= · |$)/gm;

/**
 * Marks open segments as interrupted when their kernel has ended, and saves all messages that the page
 * has received: while a page watches, the cell saves its output more rarely.
 *
 * It marks the formats that other programs show, too, which otherwise would show a running call for
 * ever. If the session continues in a new kernel, the real end replaces the mark.
 */
function writeInterrupted(
  panel: NotebookPanel,
  { store }: ILink,
  words: IWords
): void {
  const mark = `*${words.__('Interrupted: the kernel ended before the answer did.')}*`;
  for (const { segment, change } of segmentsIn(panel)) {
    if (segment.open && segment.status !== mark) {
      const { messages } = displayedSegment(
        segment,
        store.getSnapshot()
      ).segment;
      change(data =>
        interruptedBundle(
          data,
          messages as unknown as PartialJSONValue,
          segment.status,
          mark
        )
      );
    }
  }
}

/** Replaces a segment's messages, and the status line at the end of every format. */
export function interruptedBundle(
  data: Record<string, PartialJSONValue>,
  messages: PartialJSONValue,
  status: string,
  mark: string
): Record<string, PartialJSONValue> {
  const withStatus = (
    text: PartialJSONValue | undefined,
    from: string,
    to: string
  ) => {
    const written = savedText(text);
    const content = written.endsWith(from)
      ? written.slice(0, written.length - from.length).trimEnd()
      : written;
    const interrupted = content.replace(RUNNING, '■$1$2interrupted$2');
    return interrupted === '' ? to : `${interrupted}\n\n${to}`;
  };
  const segment = data[SEGMENT_MIME] as Record<string, PartialJSONValue>;
  const withoutStars = (line: string) => line.replace(/^\*+|\*+$/g, '');
  return {
    ...data,
    [SEGMENT_MIME]: { ...segment, messages, status: mark },
    'text/markdown': withStatus(data['text/markdown'], status, mark),
    'text/plain': withStatus(
      data['text/plain'],
      withoutStars(status),
      withoutStars(mark)
    )
  };
}

/** Marks every saved segment of a session that was removed from it. */
function markRemoved(panel: NotebookPanel, link: ILink, words: IWords): void {
  const mark = words.__('Removed from the session');
  for (const [saved, session] of segmentsOfIdleSessions(panel, link)) {
    const { segment, change } = saved;
    if (segment.removed !== true && isRemoved(segment, session)) {
      change(data => removedBundle(data, mark));
    }
  }
}

/** Adds the mark to every format of an output, above the content that other programs show. */
export function removedBundle(
  data: Record<string, PartialJSONValue>,
  mark: string
): Record<string, PartialJSONValue> {
  return {
    ...data,
    [SEGMENT_MIME]: {
      ...(data[SEGMENT_MIME] as Record<string, PartialJSONValue>),
      removed: true
    },
    'text/markdown': `*${mark}*\n\n${savedText(data['text/markdown'])}`,
    'text/plain': `${mark}\n\n${savedText(data['text/plain'])}`
  };
}

/** Writes a bundle into its segment's present output; the cell may have changed since. */
function writeBundle(
  { cell, segment }: ISavedSegment,
  bundle: Record<string, PartialJSONValue>
): void {
  for (const { segment: present, change } of segmentsInCell(cell)) {
    if (
      isComplete(present) === isComplete(segment) &&
      present.turn === segment.turn &&
      present.start?.part === segment.start?.part &&
      present.start?.offset === segment.start?.offset
    ) {
      change(() => bundle);
      return;
    }
  }
}

/** Returns whether the session that the notebook's cells go on with does something. */
function isCurrentBusy({ store }: ILink): boolean {
  const { current, sessions } = store.getSnapshot();
  const session = sessions.get(current ?? '');
  return session !== undefined && isBusy(session.transcript);
}
