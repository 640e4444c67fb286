/**
 * Says in the notebook's file what was taken back for good: its session no longer holds it.
 */
import type { ICodeCellModel } from '@jupyterlab/cells';
import type { NotebookPanel } from '@jupyterlab/notebook';
import type { PartialJSONValue } from '@lumino/coreutils';
import type { ILink } from '../kernel/link';
import { readSegment, SEGMENT_MIME } from '../protocol/segment';
import { isRemoved } from '../state/reverted';
import type { IWords } from '../views/host';

/** Marks every saved stretch of an answer that was removed from its session. */
export function markRemoved(
  panel: NotebookPanel,
  link: ILink,
  words: IWords
): void {
  const { sessions } = link.store.getSnapshot();
  for (const { model } of panel.content.widgets) {
    if (model.type !== 'code') {
      continue;
    }
    const { outputs } = model as ICodeCellModel;
    for (let index = 0; index < outputs.length; index += 1) {
      const output = outputs.get(index);
      const segment = readSegment(output.data[SEGMENT_MIME]);
      const session = sessions.get(segment?.session ?? '');
      if (
        segment !== null &&
        segment.removed !== true &&
        session?.known === true &&
        session.transcript.status.type === 'idle' &&
        isRemoved(segment, session)
      ) {
        const saved = output.toJSON();
        const data = saved.data as Record<string, PartialJSONValue>;
        const told = words.__('Taken back for good');
        outputs.set(index, { ...saved, data: removed(data, told) });
      }
    }
  }
}

/** Puts the mark into every form, above what other programs show. */
export function removed(
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
