/** A segment: a section of a turn with the agent's reasoning, text and calls, in order. */
import { memo, useMemo, useSyncExternalStore, type ReactNode } from 'react';
import type {
  Ask,
  Message,
  ProposedRequest,
  Status
} from '../../protocol/generated';
import { SEGMENT_VERSION, type ISegment } from '../../protocol/segment';
import {
  densityChoice,
  densityOf,
  type Density
} from '../../state/display/density';
import type { Line } from '../../state/lines/lines';
import { isCoveredByCall } from '../../state/lines/toolCalls';
import {
  turnMessages,
  turnRows,
  type TurnOutputs
} from '../../state/display/turnRows';
import type { RevertedExtent } from '../../state/session/reverts';
import { FileChanges } from '../parts/fileChanges';
import { ChangeList } from '../review/changeList';
import { changesOfMessage } from '../../state/review/cellReview';
import { StoppedNotice } from '../parts/failure';
import { TurnFooter } from './turnFooter';
import { TurnSummary } from './turnSummary';
import { useHost, type IWords } from '../host';
import { LineGroup } from './lineGroup';
import { HeldRequest } from '../modelContext/heldRequest';
import { modeName } from '../controls/permissionWords';
import { PermissionPrompt } from '../parts/permissionPrompt';
import { AskInput } from '../parts/toolCall';
import { useScrollBoxes } from '../dom/scrollBoxes';

interface ISegmentViewProps {
  segment: ISegment;
  /** Whether the segment is still being written; a saved one is not. */
  isLive?: boolean;
  /** The agent's status; with it the newest segment ends in a status line. */
  status?: Status;
  /** The reason why nothing is being written, if any. */
  problem?: string;
  /** Whether it was being written when its kernel ended. */
  isInterrupted?: boolean;
  /** Open questions that belong to no shown call. */
  strayAsks?: readonly Ask[];
  /** Requests that step mode holds. */
  heldRequests?: readonly ProposedRequest[];
  /** Whether a failure at its end can be retried, since nothing follows it. */
  canRetry?: boolean;
  /** How much of it is reverted. */
  revertExtent?: RevertedExtent;
  /** Whether a stop button is drawn below it while it is written. */
  hasStopButton?: boolean;
  /** Whether its figures are drawn, since there is no cell that shows them. */
  showsFigures?: boolean;
  /** The id of the cell that shows its figures, where it is drawn elsewhere, too. */
  cellId?: string;
  /** Whether the context window is drawn below the turn. */
  showsGauge?: boolean;
  /** The outputs of its turn, where a cell shows the turn in several. */
  outputs?: TurnOutputs;
  /** Its place in `outputs`. */
  outputIndex?: number;
  /** Buttons below a turn that has ended. */
  buttons?: ReactNode;
}

function revertedLabel(
  extent: NonNullable<RevertedExtent>,
  words: IWords
): string {
  const names: Record<NonNullable<RevertedExtent>, string> = {
    whole: words.__('Reverted'),
    part: words.__('Reverted in part'),
    removed: words.__('Removed from the session')
  };
  return names[extent];
}

/** Draws one segment. */
export function SegmentView({
  outputs: givenOutputs,
  outputIndex = 0,
  ...props
}: ISegmentViewProps) {
  const { segment } = props;
  const choice = useSyncExternalStore(
    densityChoice.subscribe,
    densityChoice.getSnapshot
  );
  const density = densityOf(choice, segment.turn, segment.density);
  const outputs = useMemo(
    () => givenOutputs ?? [segment],
    [givenOutputs, segment]
  );
  const messages = useMemo(() => turnMessages(outputs), [outputs]);
  const isGrowing = outputs.at(-1)?.open === true;
  return (
    <DrawnSegment
      {...props}
      density={density}
      rows={turnRows(outputs, outputIndex, density, isGrowing)}
      messagesOfTurn={segment.end === undefined ? messages : segment.messages}
    />
  );
}

interface IDrawnSegmentProps extends Omit<
  ISegmentViewProps,
  'outputs' | 'outputIndex'
> {
  density: Density;
  rows: readonly Line[];
  /** The messages of the whole turn, in its last segment. */
  messagesOfTurn: readonly Message[];
}

/** Draws a segment; a new delta in another segment of its turn seldom changes it. */
const DrawnSegment = memo(function DrawnSegment({
  segment,
  isLive = false,
  status: activity,
  problem,
  isInterrupted = false,
  strayAsks = [],
  heldRequests = [],
  canRetry = false,
  revertExtent,
  hasStopButton = false,
  showsFigures = false,
  cellId,
  showsGauge = true,
  density,
  rows,
  messagesOfTurn,
  buttons
}: IDrawnSegmentProps) {
  const { Markdown, words } = useHost();
  const extent = segment.removed === true ? 'removed' : revertExtent;
  const { messages, open, status } = segment;
  const isOver = !isLive && !open && segment.end === undefined;
  const hasFooter =
    open && isLive && activity !== undefined && activity.type !== 'idle';
  const drawnRows = hasFooter ? rows.filter(row => !isOpenRetry(row)) : rows;
  const changes = segment.changes ?? [];
  // Changes that are only proposed stand in the card of their question.
  const cellChanges = useMemo(
    () =>
      messagesOfTurn
        .flatMap(changesOfMessage)
        .filter(({ change }) => change.state !== 'proposed'),
    [messagesOfTurn]
  );
  const newestCallKey = drawnRows.findLast(line => line.kind === 'tool')?.key;
  const stopNotice = useMemo(() => stopNoticeOf(messages), [messages]);
  const scrollBoxesRef = useScrollBoxes<HTMLElement>();
  return (
    <section
      ref={scrollBoxesRef}
      className="plm-Segment"
      // Not a landmark: an answer may consist of several segments with one name.
      role="group"
      aria-label={words.__('The agent’s answer')}
      data-reverted={extent}
      // Its work is in a row of an earlier output.
      data-empty={drawnRows.length === 0 && !open && segment.end !== undefined}
    >
      {extent !== undefined && (
        <p className="plm-Reverted">{revertedLabel(extent, words)}</p>
      )}
      {isFirstSegment(segment) && (segment.mode ?? '') !== '' && (
        <ModeNotice mode={segment.mode ?? ''} />
      )}
      {segment.version > SEGMENT_VERSION && (
        <p className="plm-Muted">
          {words.__(
            'Saved by a newer Palimpsest; some of it may not be shown. Update the extension to see all.'
          )}
        </p>
      )}
      {lineGroups(drawnRows).map((group, index, { length }) => (
        <LineGroup
          key={index}
          lines={group}
          segment={segment}
          isLive={isLive}
          stopNotice={stopNotice}
          showsFigures={showsFigures}
          cellId={cellId}
          newestCallKey={newestCallKey}
          canRetry={canRetry && index === length - 1}
          isLast={index === length - 1}
        />
      ))}
      {changes.length > 0 && !isCoveredByCall(changes, messagesOfTurn) && (
        <FileChanges changes={changes} />
      )}
      <ChangeList
        changes={cellChanges}
        asks={segment.asks}
        isReverted={extent === 'whole' || extent === 'removed'}
      />
      {open && !isLive && status !== '' && (
        <div className="plm-Status">
          <Markdown text={status} />
        </div>
      )}
      {strayAsks.map(ask => (
        <div key={ask.id} className="plm-UnattachedAsk">
          {ask.call_id !== undefined && <AskInput ask={ask} />}
          <PermissionPrompt ask={ask} />
        </div>
      ))}
      {heldRequests.map(request => (
        <div key={request.id} className="plm-UnattachedAsk">
          <HeldRequest request={request} />
        </div>
      ))}
      {isInterrupted && (
        <StoppedNotice
          text={words.__(
            'Interrupted: the kernel ended before the answer did. What was done up to here is kept; ask again to go on.'
          )}
        />
      )}
      {isOver && (
        <TurnSummary
          turnId={segment.turn}
          messages={messagesOfTurn}
          density={density}
          showsGauge={showsGauge}
        >
          {buttons}
        </TurnSummary>
      )}
      {hasFooter && (
        <TurnFooter
          messages={messages}
          status={activity}
          problem={problem}
          hasAsks={
            segment.asks.length +
              (segment.questions ?? []).length +
              heldRequests.length >
            0
          }
          hasStopButton={hasStopButton}
        />
      )}
    </section>
  );
});

/** Returns whether a row is about attempts that the line below the turn shows, since none was answered yet. */
function isOpenRetry(row: Line): boolean {
  return row.kind === 'retry' && row.run?.end === 'open';
}

/** Draws a note above a turn that did not begin in the mode that asks. */
function ModeNotice({ mode }: { mode: string }) {
  const { words } = useHost();
  return (
    <p className="plm-ModeNotice" data-mode={mode}>
      {words.__('Permission mode: %1', modeName(mode, words))}
    </p>
  );
}

/** Returns the notice with which the turn was stopped; empty if it was not. */
function stopNoticeOf(messages: readonly Message[]): string {
  const errors = messages.map(({ info }) =>
    info.role === 'assistant' ? info.error : undefined
  );
  return errors.findLast(error => error?.type === 'aborted')?.message ?? '';
}

function isFirstSegment({ first_step, start }: ISegment): boolean {
  return (
    first_step <= 1 && (start === undefined || start.part + start.offset === 0)
  );
}

/** An answer with more lines is drawn in groups of this many. */
const MAX_GROUP_LINES = 24;

function lineGroups(rows: readonly Line[]): (readonly Line[])[] {
  const groupCount = Math.ceil(rows.length / MAX_GROUP_LINES);
  return Array.from({ length: groupCount }, (_, index) =>
    rows.slice(index * MAX_GROUP_LINES, (index + 1) * MAX_GROUP_LINES)
  );
}
