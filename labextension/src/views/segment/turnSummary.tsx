/** The line under a turn that has ended: its figures, and what can be done with it. */
import type { ReactNode } from 'react';
import type { Message } from '../../protocol/generated';
import { densityChoice, type Density } from '../../state/display/density';
import { figureWords, turnFigures } from '../../state/display/turnFigures';
import { count } from '../../state/text/numberFormat';
import { Gauge } from '../modelContext/gauge';
import { InspectButton } from '../modelContext/inspectButton';
import { CopyButton, LinkButton } from '../controls/buttons';
import { useHost } from '../host';

interface ITurnSummaryProps {
  /** The id of the turn's prompt. */
  turnId: string;
  messages: readonly Message[];
  density: Density;
  /** Whether the context window is drawn; the panel has it in its header. */
  showsGauge: boolean;
  /** More buttons. */
  children?: ReactNode;
}

/** Draws the line; nothing where there is nothing to tell and to do. */
export function TurnSummary(props: ITurnSummaryProps) {
  const { turnId, messages, density, showsGauge, children } = props;
  const { words } = useHost();
  const figures = turnFigures(messages);
  const answerTexts = messages.flatMap(({ info, parts }) =>
    info.role === 'assistant' && !info.summary
      ? parts.flatMap(part =>
          part.type === 'text' && !part.synthetic && !part.ignored
            ? [part.text.trim()]
            : []
        )
      : []
  );
  const answer = answerTexts.filter(text => text !== '').join('\n\n');
  const [, ...otherFacts] = figures === null ? [] : figureWords(figures, words);
  const lastStepMessage = messages.findLast(({ parts }) =>
    parts.some(({ type }) => type === 'step-finish')
  );
  return (
    <div className="plm-TurnSummary">
      {figures !== null && (
        <span
          className="plm-TurnSummary-figures"
          title={[
            words.__(
              '%1 tokens in, %2 of them cached',
              count(figures.sentTokens),
              count(figures.cachedTokens)
            ),
            ...otherFacts.map(fact => fact.text)
          ].join(' · ')}
        >
          <LinkButton
            className="plm-TurnSummary-steps"
            aria-pressed={density === 'all steps'}
            title={words.__('Show all steps of this turn')}
            onClick={() => {
              densityChoice.setTurn(
                turnId,
                density === 'quiet' ? 'all steps' : 'quiet'
              );
            }}
          >
            {words._n('%1 step', '%1 steps', figures.stepCount)}
          </LinkButton>
          {figureWords(figures, words).map(fact => (
            <span key={fact.text} className="plm-TurnSummary-fact">
              {` · ${fact.text}`}
              {fact.more !== undefined && (
                <span className="plm-TurnSummary-more">{` ${fact.more}`}</span>
              )}
            </span>
          ))}
        </span>
      )}
      {showsGauge &&
        figures?.contextTokens !== undefined &&
        figures.windowTokens !== undefined && (
          <Gauge
            used={figures.contextTokens}
            window={figures.windowTokens}
            isBrief
          />
        )}
      <span className="plm-TurnSummary-actions">
        {answer !== '' && (
          <CopyButton
            label={words.__('Copy')}
            name={words.__('Copy the answer')}
            title={words.__('Copy the answer as Markdown')}
            text={() => answer}
          />
        )}
        {lastStepMessage !== undefined && (
          <InspectButton target={{ request: lastStepMessage.info.id }} isLink />
        )}
        {children}
      </span>
    </div>
  );
}
