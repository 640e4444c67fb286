/** The line under a step: tokens, cost, seconds, and context usage. */
import type { StepFinishPart } from '../../protocol/generated';
import { count, durationText } from '../../state/text/numberFormat';
import { costWords, sentTokens } from '../../state/display/turnFigures';
import { Gauge } from '../modelContext/gauge';
import { InspectButton } from '../modelContext/inspectButton';
import { useHost } from '../host';

/** Draws one step's numbers; unreported ones are shown as unknown, never as zero. */
export function StepSummary(props: { part: StepFinishPart; number: number }) {
  const { part, number } = props;
  const { words } = useHost();
  const { tokens } = part;
  const promptTokens = sentTokens(part);
  const promptText =
    tokens.cache_read > 0
      ? words.__(
          '%1 in (%2 cached)',
          count(promptTokens),
          count(tokens.cache_read)
        )
      : words.__('%1 in', count(promptTokens));
  const facts = [
    words.__('step %1', number),
    promptText,
    words.__('%1 out', count(tokens.output + tokens.reasoning)),
    costWords(part.cost, part.cost_listed === true, words),
    ...(part.seconds === undefined ? [] : [durationText(part.seconds)]),
    ...(part.waited_seconds === undefined
      ? []
      : [words.__('%1 for your answers', durationText(part.waited_seconds))])
  ];
  return (
    <div className="plm-Step">
      <span>
        {tokens.estimated && '≈ '}
        {facts.map(withoutBreaks).join('\u00a0· ')}{' '}
        <InspectButton target={{ request: part.message_id }} isLink />
      </span>
      {part.window !== undefined && part.context_tokens !== undefined && (
        <Gauge used={part.context_tokens} window={part.window} />
      )}
    </div>
  );
}

/** Keeps a number and its unit on one line. */
function withoutBreaks(fact: string): string {
  return fact.replaceAll(' ', '\u00a0');
}
