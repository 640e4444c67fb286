/** Marks saved segments in the notebook whose messages were reverted and removed from the session. */
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONValue } from '@lumino/coreutils';
import type { ILink } from '../../kernel/kernelLink';
import { SEGMENT_MIME } from '../../protocol/segment';
import { isRemoved } from '../../state/session/reverts';
import type { IWords } from '../../views/host';
import { savedText, segmentsOfIdleSessions } from './savedSegments';

/** Marks every saved segment of a session that was removed from it. */
export function markRemoved(
  panel: NotebookPanel,
  link: ILink,
  words: IWords
): void {
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
