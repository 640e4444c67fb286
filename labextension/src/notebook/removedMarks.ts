/**
 * Says in the notebook's file what was taken back for good: its session no longer holds it.
 */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONValue } from '@lumino/coreutils';
import type { ILink } from '../kernel/kernelLink';
import { SEGMENT_MIME } from '../protocol/segment';
import { isRemoved } from '../state/session/reverts';
import type { IWords } from '../views/host';
import { segmentsIn } from './savedSegments';

/** Marks every saved stretch of an answer that was removed from its session. */
export function markRemoved(
  panel: NotebookPanel,
  link: ILink,
  words: IWords
): void {
  const { sessions } = link.store.getSnapshot();
  const told = words.__('Removed from the session');
  for (const { segment, change } of segmentsIn(panel)) {
    const session = sessions.get(segment.session);
    if (
      segment.removed !== true &&
      session?.known === true &&
      session.transcript.status.type === 'idle' &&
      isRemoved(segment, session)
    ) {
      change(data => removedBundle(data, told));
    }
  }
}

/** Puts the mark into every form, above what other programs show. */
export function removedBundle(
  data: Record<string, PartialJSONValue>,
  told: string
): Record<string, PartialJSONValue> {
  const below = (text: PartialJSONValue | undefined) =>
    (Array.isArray(text) ? text : [text])
      .filter(one => typeof one === 'string')
      .join('');
  return {
    ...data,
    [SEGMENT_MIME]: {
      ...(data[SEGMENT_MIME] as Record<string, PartialJSONValue>),
      removed: true
    },
    'text/markdown': `*${told}*\n\n${below(data['text/markdown'])}`,
    'text/plain': `${told}\n\n${below(data['text/plain'])}`
  };
}
