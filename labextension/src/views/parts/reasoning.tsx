/** The model's reasoning, collapsed until the user opens it. */
import type { Decision, ReasoningPart } from '../../protocol/generated';
import { durationText } from '../../state/text/numberFormat';
import { Disclosure } from '../controls/disclosure';
import { useHost } from '../host';
import { ContextEditNote } from '../modelContext/editButtons';

/** Draws reasoning, with its duration if known. */
export function Reasoning(props: {
  part: ReasoningPart;
  decisions: readonly Decision[];
}) {
  const { part, decisions } = props;
  const { Markdown, words } = useHost();
  const { time } = part;
  const seconds =
    time?.end === undefined ? null : (time.end - time.start) / 1000;
  const head =
    seconds === null
      ? words.__('Thoughts')
      : words.__('Thought for %1', durationText(seconds));
  return (
    <Disclosure
      className="plm-Reasoning"
      line={part.id}
      head={<span>{head}</span>}
    >
      <Markdown text={part.text} />
      <ContextEditNote targetId={part.id} decisions={decisions} />
    </Disclosure>
  );
}
