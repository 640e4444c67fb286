/**
 * How each kind of line is drawn, converted to text, and compared.
 *
 * A new kind of line needs a row here; without it this does not compile.
 */
import type { ComponentType } from 'react';
import type { ISegment } from '../../protocol/segment';
import type { Line, StandaloneLine } from '../../state/lines/lines';
import { errorWords } from '../../state/text/errorWords';
import { retryWords } from '../../state/lines/retryRuns';
import { callSubject } from '../../state/lines/toolCalls';
import { workText } from '../../state/display/workWords';
import { decisionsAbout } from '../../state/session/contextEdits';
import { useHost, type IWords } from '../host';
import { Compaction, compactionTexts } from '../modelContext/compaction';
import { ContextEditState } from '../modelContext/editButtons';
import { Failure, RetryNote } from '../parts/failure';
import { MarkdownText } from '../parts/markdownText';
import { Reasoning } from '../parts/reasoning';
import {
  StandalonePartView,
  standalonePartText
} from '../parts/standaloneParts';
import { StepSummary } from '../parts/stepSummary';
import { ToolCall } from '../parts/toolCall';
import { WorkRow } from './workRow';

export interface ILineProps<L extends Line = Line> {
  line: L;
  segment: ISegment;
  isLive: boolean;
  /** The notice with which the turn was stopped; empty if it was not. */
  stopNotice: string;
  showsFigures: boolean;
  /** The id of the cell that shows its figures, where the line is not in it. */
  cellId?: string;
  isNewest: boolean;
  canRetry: boolean;
}

interface ILineKind<L extends Line> {
  View: ComponentType<ILineProps<L>>;
  /** The text to find, copy or read aloud while the line is not rendered. */
  text(line: L, words: IWords): string;
  /** The values from which the line was made; equal values mean an equal line. */
  sourceValues(line: L): readonly unknown[];
}

/** The kinds except standalone parts, whose rows are in views/parts/standaloneParts. */
type OtherKind = Exclude<Line, StandaloneLine>['kind'];
type LineKinds = { [K in OtherKind]: ILineKind<Extract<Line, { kind: K }>> };

const partValues = ({ part }: { part: unknown }) => [part];

const LINE_KINDS: LineKinds = {
  text: {
    View: props => (
      <>
        <MarkdownText
          text={props.line.part.text}
          isLive={props.isLive}
          partId={props.line.part.id}
        />
        <EditState {...props} />
      </>
    ),
    text: ({ part }) => part.text,
    sourceValues: partValues
  },
  prompt: {
    View: props => {
      const { words } = useHost();
      return (
        <>
          <blockquote
            className="plm-Prompt"
            dir="auto"
            aria-label={words.__('You said')}
          >
            {props.line.part.text}
          </blockquote>
          <EditState {...props} />
        </>
      );
    },
    text: ({ part }) => part.text,
    sourceValues: partValues
  },
  reasoning: {
    View: ({ line, segment }) => (
      <Reasoning
        part={line.part}
        decisions={decisionsAbout(segment.decisions, line.part)}
      />
    ),
    text: () => '', // collapsed until the user opens it
    sourceValues: partValues
  },
  tool: {
    View: ({
      line: { part },
      segment,
      isLive,
      stopNotice,
      showsFigures,
      cellId,
      isNewest
    }) => (
      <ToolCall
        part={part}
        ask={segment.asks.find(ask => ask.call_id === part.call_id)}
        openQuestions={segment.questions?.find(
          question => question.call_id === part.call_id
        )}
        reply={segment.replies[part.call_id]}
        decisions={decisionsAbout(segment.decisions, part)}
        isOver={!isLive && !segment.open}
        isNewest={isNewest}
        isLive={isLive}
        stopNotice={stopNotice}
        showsFigures={showsFigures}
        cellId={cellId}
      />
    ),
    text: ({ part }) => `${part.tool} ${callSubject(part)}`,
    sourceValues: partValues
  },
  work: {
    View: props => (
      <WorkRow row={props.line}>
        {props.line.lines.map(line => {
          const { View } = lineKind(line);
          return (
            <View key={line.key} {...props} line={line} canRetry={false} />
          );
        })}
      </WorkRow>
    ),
    text: (line, words) => workText(line, words),
    sourceValues: ({ lines }) =>
      lines.flatMap(line => lineKind(line).sourceValues(line))
  },
  notice: {
    View: ({ line }) => (
      <p className="plm-Muted" role="note">
        ! {line.part.text}
      </p>
    ),
    text: ({ part }) => `! ${part.text}`,
    sourceValues: partValues
  },
  retry: {
    View: ({ line }) => <RetryNote part={line.part} run={line.run} />,
    text: ({ part, run }, words) =>
      run === undefined
        ? errorWords(part.error.message)
        : retryWords(run, words),
    sourceValues: ({ part, run }) => [part, run?.failedCount, run?.end]
  },
  step: {
    View: ({ line }) => <StepSummary part={line.part} number={line.number} />,
    text: () => '', // only numbers
    sourceValues: partValues
  },
  cut: {
    View: () => {
      const { words } = useHost();
      return (
        <p className="plm-Muted" role="note">
          {cutText(words)}
        </p>
      );
    },
    text: (_line, words) => cutText(words),
    sourceValues: partValues
  },
  compaction: {
    View: ({ line, segment }) => (
      <Compaction
        summary={line.summary}
        state={line.state}
        marker={line.part}
        summaryId={line.summaryId}
        decisions={segment.decisions}
      />
    ),
    text: ({ part, state }, words) =>
      compactionTexts(state, part, words).join(' '),
    sourceValues: ({ part, state }) => [part, state]
  },
  error: {
    View: ({ line, canRetry }) => (
      <Failure
        error={line.error}
        attempts={line.attemptCount}
        canRetry={canRetry}
      />
    ),
    text: ({ error }) => errorWords(error.message),
    sourceValues: ({ attemptCount: attempts, error }) => [error, attempts]
  }
};

const STANDALONE_KIND: ILineKind<StandaloneLine> = {
  View: props => (
    <>
      <StandalonePartView part={props.line.part} />
      <EditState {...props} />
    </>
  ),
  text: ({ part }, words) => standalonePartText(part, words),
  sourceValues: partValues
};

function cutText(words: IWords): string {
  return `✂ ${words.__('The answer was cut at its length limit. Ask it to go on.')}`;
}

/** Returns the row of a line. */
export function lineKind(line: Line): ILineKind<Line> {
  const kinds = LINE_KINDS as Partial<Record<string, unknown>>;
  return (kinds[line.kind] ?? STANDALONE_KIND) as ILineKind<Line>;
}

/** Draws the context edit in effect for the part of a line. */
function EditState({
  line,
  segment
}: ILineProps<Extract<Line, { kind: 'text' | 'prompt' } | StandaloneLine>>) {
  return (
    <ContextEditState
      targetId={line.part.id}
      decisions={decisionsAbout(segment.decisions, line.part)}
    />
  );
}
