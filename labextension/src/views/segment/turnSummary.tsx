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
  turn: string;
  messages: readonly Message[];
  density: Density;
  /** Whether the context window is drawn; the panel has it in its header. */
  showsGauge: boolean;
  /** More buttons. */
  children?: ReactNode;
}

/** Draws the line; nothing where there is nothing to tell and to do. */
export function TurnSummary(props: ITurnSummaryProps) {
  const { turn, messages, density, showsGauge, children } = props;
  const { words } = useHost();
  const figures = turnFigures(messages);
  const answer = messages.flatMap(({ info, parts }) =>
    info.role === 'assistant' && !info.summary
      ? parts.flatMap(part =>
          part.type === 'text' && !part.synthetic && !part.ignored
            ? [part.text.trim()]
            : []
        )
      : []
  );
  const text = answer.filter(text => text !== '').join('\n\n');
  const [, ...others] = figures === null ? [] : figureWords(figures, words);
  const last = messages.findLast(({ parts }) =>
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
            ...others.map(fact => fact.text)
          ].join(' · ')}
        >
          <LinkButton
            className="plm-TurnSummary-steps"
            aria-pressed={density === 'all steps'}
            title={words.__('Show all steps of this turn')}
            onClick={() => {
              densityChoice.setTurn(
                turn,
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
            brief
          />
        )}
      <span className="plm-TurnSummary-actions">
        {text !== '' && (
          <CopyButton
            label={words.__('Copy')}
            name={words.__('Copy the answer')}
            title={words.__('Copy the answer as Markdown')}
            text={() => text}
          />
        )}
        {last !== undefined && (
          <InspectButton target={{ request: last.info.id }} quiet />
        )}
        {children}
      </span>
    </div>
  );
}
