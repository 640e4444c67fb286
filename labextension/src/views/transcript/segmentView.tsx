/**
 * A stretch of a turn: what the agent thought, said and did, in order.
 */
import { memo, useMemo } from 'react';
import type {
  Ask,
  Decision,
  Message,
  ReasoningPart,
  Status
} from '../../protocol/generated';
import { SEGMENT_VERSION, type ISegment } from '../../protocol/segment';
import { seconds } from '../../state/display/numberFormat';
import { linesHeight } from '../../state/display/rowHeights';
import { lines, type Line } from '../../state/display/lines';
import type { RevertedExtent } from '../../state/session/reverts';
import { decisionsAbout } from '../../state/session/contextEdits';
import { FileChanges } from '../parts/fileChanges';
import { Compaction } from '../modelContext/compaction';
import { Failure, RetryNote, StoppedNotice } from '../parts/failure';
import { Disclosure } from '../controls/disclosure';
import { TurnFooter } from './turnFooter';
import { useHost, type IWords } from '../host';
import { linesText } from './lineText';
import { modeName } from '../controls/modeNames';
import { mayDrawNow, useNearViewport } from '../dom/nearViewport';
import { StandalonePartView } from '../parts/standaloneParts';
import { PermissionPrompt } from '../parts/permissionPrompt';
import { StepSummary } from '../parts/stepSummary';
import { MarkdownText } from '../parts/markdownText';
import { AskInput, ReadCalls, ToolCall } from '../parts/toolCall';
import { useScrollBoxes } from '../dom/scrollBoxes';
import { ContextEditNote, ContextEditState } from '../modelContext/editButtons';

export interface ISegmentViewProps {
  segment: ISegment;
  /** Somebody still writes this segment; a saved one is over. */
  live?: boolean;
  /** What the agent does; with it the newest segment ends in a line that says so. */
  status?: Status;
  /** Why nothing is written at this moment. */
  problem?: string;
  /** It was being written when its kernel ended. */
  interrupted?: boolean;
  /** Questions that belong to no call that is shown. */
  stray?: readonly Ask[];
  /** Nothing came after it: what failed at its end can be tried again. */
  again?: boolean;
  /** How much of it is taken back. */
  taken?: RevertedExtent;
  /** Stop is drawn below it while it is written. */
  stoppable?: boolean;
  /** Its figures stand nowhere else: there is no cell that shows them. */
  figures?: boolean;
}

function takenWords(taken: NonNullable<RevertedExtent>, words: IWords): string {
  switch (taken) {
    case 'whole':
      return words.__('Taken back');
    case 'part':
      return words.__('Taken back in part');
    case 'removed':
      return words.__('Taken back for good');
  }
}

/** Draws one segment. */
export function SegmentView({
  segment,
  live = false,
  status: doing,
  problem,
  interrupted = false,
  stray = [],
  again = false,
  taken: now,
  stoppable = false,
  figures = false
}: ISegmentViewProps) {
  const { Markdown, words } = useHost();
  const taken = segment.removed === true ? 'removed' : now;
  const { first_step, messages, open, status } = segment;
  const drawn = useMemo(
    () => lines(messages, first_step),
    [messages, first_step]
  );
  const changes = segment.changes ?? [];
  const newest = drawn.findLast(line => line.kind === 'tool')?.key;
  const ended = useMemo(() => stoppedWith(messages), [messages]);
  const place = useScrollBoxes<HTMLElement>();
  return (
    <section
      ref={place}
      className="plm-Segment"
      // Not a landmark: an answer may stand in several segments of one name.
      role="group"
      aria-label={words.__('The agent’s answer')}
      data-taken={taken}
    >
      {taken !== undefined && (
        <p className="plm-Taken">{takenWords(taken, words)}</p>
      )}
      {isFirst(segment) && (segment.mode ?? '') !== '' && (
        <ModeNotice mode={segment.mode ?? ''} />
      )}
      {segment.version > SEGMENT_VERSION && (
        <p className="plm-Muted">
          {words.__(
            'Saved by a newer Palimpsest; some of it may not be shown. Update the extension to see all.'
          )}
        </p>
      )}
      {stretches(drawn).map((stretch, number, { length }) => (
        <LineGroup
          key={number}
          lines={stretch}
          segment={segment}
          live={live}
          ended={ended}
          figures={figures}
          newest={newest}
          again={again && number === length - 1}
          isLast={number === length - 1}
        />
      ))}
      {changes.length > 0 && <FileChanges changes={changes} />}
      {open && !live && status !== '' && (
        <div className="plm-Status">
          <Markdown text={status} />
        </div>
      )}
      {stray.map(ask => (
        <div key={ask.id} className="plm-Stray">
          {ask.call_id !== undefined && <AskInput ask={ask} />}
          <PermissionPrompt ask={ask} />
        </div>
      ))}
      {interrupted && (
        <StoppedNotice
          words={words.__(
            'Interrupted: the kernel ended before the answer did. What was done up to here is kept; ask again to go on.'
          )}
        />
      )}
      {open && live && doing !== undefined && doing.type !== 'idle' && (
        <TurnFooter
          messages={messages}
          status={doing}
          problem={problem}
          asks={segment.asks.length + (segment.questions ?? []).length > 0}
          stoppable={stoppable}
        />
      )}
    </section>
  );
}

/** Says above a turn that it was not begun in the mode that asks. */
function ModeNotice({ mode }: { mode: string }) {
  const { words } = useHost();
  return (
    <p className="plm-Moded" data-mode={mode}>
      {words.__('Permission mode: %1', modeName(mode, words))}
    </p>
  );
}

/** Returns the words with which the turn was stopped; empty when it was not. */
function stoppedWith(messages: readonly Message[]): string {
  const errors = messages.map(({ info }) =>
    info.role === 'assistant' ? info.error : undefined
  );
  return errors.findLast(error => error?.type === 'aborted')?.message ?? '';
}

function isFirst({ first_step, start }: ISegment): boolean {
  return (
    first_step <= 1 && (start === undefined || start.part + start.offset === 0)
  );
}

/** An answer of more lines is drawn in stretches of so many. */
const STRETCH = 24;

function stretches(drawn: readonly Line[]): (readonly Line[])[] {
  const count = Math.ceil(drawn.length / STRETCH);
  return Array.from({ length: count }, (_, number) =>
    drawn.slice(number * STRETCH, (number + 1) * STRETCH)
  );
}

interface IStretchProps extends Omit<ILineProps, 'line' | 'newest'> {
  lines: readonly Line[];
  /** The key of the newest call. */
  newest: string | undefined;
  isLast: boolean;
}

/** Draws the lines of a stretch, or where it is far only their words. */
function LineGroup({
  lines: drawn,
  segment,
  live,
  ended,
  figures,
  newest,
  again,
  isLast
}: IStretchProps) {
  const isHeld = drawn.some(line => waits(line, segment, live));
  const { place, near } = useNearViewport<HTMLDivElement>(
    () => isLast && mayDrawNow(),
    isHeld
  );
  const hasChanges = (segment.changes ?? []).length > 0;
  return (
    <div
      className="plm-Stretch"
      ref={place}
      data-far={!near}
      dir={near ? undefined : 'auto'}
      style={{ containIntrinsicHeight: `auto ${linesHeight(drawn)}px` }}
    >
      {near ? (
        drawn.map(line =>
          // What a step changed is told by the turn as soon as it is over.
          line.kind === 'patch' && hasChanges ? null : (
            <LineView
              key={line.key}
              line={line}
              segment={segment}
              live={live}
              ended={ended}
              figures={figures}
              newest={line.key === newest}
              again={again && line === drawn.at(-1)}
            />
          )
        )
      ) : (
        <LineGroupText lines={drawn} />
      )}
    </div>
  );
}

/** Tells whether something in a line runs, or waits for a person. */
function waits(
  line: Line,
  { asks, questions = [] }: ISegment,
  live: boolean
): boolean {
  if (line.kind !== 'tool') {
    return false;
  }
  const { call_id, state } = line.part;
  const runs = state.status === 'running' || state.status === 'pending';
  return (
    (live && runs) ||
    [...asks, ...questions].some(one => one.call_id === call_id)
  );
}

/** Draws the words of lines, as one text. */
const LineGroupText = memo(
  function StretchWords({ lines: drawn }: { lines: readonly Line[] }) {
    const { words } = useHost();
    return <>{linesText(drawn, words)}</>;
  },
  ({ lines: before }, { lines: now }) =>
    before.length === now.length &&
    before.every((line, index) => isSame(line, now[index]))
);

/** Tells whether two lines say the same; of the same parts they are made anew each time. */
function isSame(one: Line, other: Line | undefined): boolean {
  const [before, now] = [made(one), other === undefined ? [] : made(other)];
  return (
    before.length === now.length &&
    before.every((thing, index) => thing === now[index])
  );
}

function made(line: Line): readonly unknown[] {
  switch (line.kind) {
    case 'reads':
      return line.parts;
    case 'error':
      return [line.error];
    case 'compaction':
      return [line.part, line.state];
    default:
      return [line.part];
  }
}

interface ILineProps {
  line: Line;
  segment: ISegment;
  live: boolean;
  /** The words with which the turn was stopped; empty when it was not. */
  ended: string;
  figures: boolean;
  newest: boolean;
  again: boolean;
}

function LineView(props: ILineProps) {
  const { line, segment, live, ended, figures, newest, again } = props;
  const { words } = useHost();
  switch (line.kind) {
    case 'text':
      return (
        <>
          <MarkdownText text={line.part.text} live={live} />
          <ContextEditState
            target={line.part.id}
            decisions={decisionsAbout(segment.decisions, line.part)}
          />
        </>
      );
    case 'prompt':
      return (
        <>
          <blockquote
            className="plm-Prompt"
            dir="auto"
            aria-label={words.__('You said')}
          >
            {line.part.text}
          </blockquote>
          <ContextEditState
            target={line.part.id}
            decisions={decisionsAbout(segment.decisions, line.part)}
          />
        </>
      );
    case 'reasoning':
      return (
        <Reasoning
          part={line.part}
          decisions={decisionsAbout(segment.decisions, line.part)}
        />
      );
    case 'tool':
      return (
        <ToolCall
          part={line.part}
          ask={segment.asks.find(ask => ask.call_id === line.part.call_id)}
          asked={segment.questions?.find(
            one => one.call_id === line.part.call_id
          )}
          reply={segment.replies[line.part.call_id]}
          decisions={decisionsAbout(segment.decisions, line.part)}
          over={!live && !segment.open}
          newest={newest}
          live={live}
          ended={ended}
          figures={figures}
        />
      );
    case 'reads':
      return <ReadCalls parts={line.parts} decisions={segment.decisions} />;
    case 'notice':
      return (
        <p className="plm-Muted" role="note">
          ! {line.part.text}
        </p>
      );
    case 'retry':
      return <RetryNote part={line.part} before={line.before} />;
    case 'step':
      return <StepSummary part={line.part} number={line.number} />;
    case 'compaction':
      return (
        <Compaction
          summary={line.summary}
          state={line.state}
          mark={line.part}
          written={line.written}
          decisions={segment.decisions}
        />
      );
    case 'error':
      return <Failure error={line.error} again={again} />;
    default:
      return (
        <>
          <StandalonePartView part={line.part} />
          <ContextEditState
            target={line.part.id}
            decisions={decisionsAbout(segment.decisions, line.part)}
          />
        </>
      );
  }
}

function Reasoning({
  part,
  decisions
}: {
  part: ReasoningPart;
  decisions: readonly Decision[];
}) {
  const { Markdown, words } = useHost();
  const { time } = part;
  const spent = time?.end === undefined ? null : (time.end - time.start) / 1000;
  const head =
    spent === null
      ? words.__('Thoughts')
      : words.__('Thought for %1', seconds(spent));
  return (
    <Disclosure className="plm-Reasoning" head={<span>{head}</span>}>
      <Markdown text={part.text} />
      <ContextEditNote target={part.id} decisions={decisions} />
    </Disclosure>
  );
}
