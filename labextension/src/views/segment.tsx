/**
 * A stretch of a turn: what the agent thought, said and did, in order.
 */
import { useMemo } from 'react';
import type {
  Ask,
  Decision,
  ReasoningPart,
  Status
} from '../protocol/generated';
import { SEGMENT_VERSION, type ISegment } from '../protocol/segment';
import { seconds } from '../state/format';
import { lines, type Line } from '../state/lines';
import type { Taken } from '../state/reverted';
import { about } from '../state/wishes';
import { Changes } from './changes';
import { Compaction } from './compaction';
import { Failure, Retry, Stopped } from './error';
import { File } from './file';
import { Fold } from './fold';
import { Foot } from './foot';
import { useHost, type IWords } from './host';
import { modeNamed } from './modes';
import { Question } from './question';
import { Step } from './step';
import { Text } from './text';
import { AskInput, Reads, Tool } from './tool';
import { Wish, Wished } from './wish';

export interface ISegmentProps {
  segment: ISegment;
  /** Somebody still writes this segment; a saved one is over. */
  live?: boolean;
  /** What the agent does; with it the newest segment ends in a line that says so. */
  status?: Status;
  /** It was being written when its kernel ended. */
  interrupted?: boolean;
  /** Questions that belong to no call that is shown. */
  stray?: readonly Ask[];
  /** Nothing came after it: what failed at its end can be tried again. */
  again?: boolean;
  /** How much of it is taken back. */
  taken?: Taken;
}

function takenWords(taken: NonNullable<Taken>, words: IWords): string {
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
export function Segment({
  segment,
  live = false,
  status: doing,
  interrupted = false,
  stray = [],
  again = false,
  taken: now
}: ISegmentProps) {
  const { Markdown, words } = useHost();
  const taken = segment.removed === true ? 'removed' : now;
  const { first_step, messages, open, status } = segment;
  const drawn = useMemo(
    () => lines(messages, first_step),
    [messages, first_step]
  );
  const changes = segment.changes ?? [];
  const newest = drawn.findLast(line => line.kind === 'tool')?.key;
  return (
    <section
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
        <Moded mode={segment.mode ?? ''} />
      )}
      {segment.version > SEGMENT_VERSION && (
        <p className="plm-Muted">
          {words.__(
            'Saved by a newer Palimpsest; some of it may not be shown. Update the extension to see all.'
          )}
        </p>
      )}
      {drawn.map(line =>
        // What a step changed is told by the turn as soon as it is over.
        line.kind === 'patch' && changes.length > 0 ? null : (
          <LineView
            key={line.key}
            line={line}
            segment={segment}
            live={live}
            newest={line.key === newest}
            again={again && line === drawn.at(-1)}
          />
        )
      )}
      {changes.length > 0 && <Changes changes={changes} />}
      {open && !live && status !== '' && (
        <div className="plm-Status">
          <Markdown text={status} />
        </div>
      )}
      {stray.map(ask => (
        <div key={ask.id} className="plm-Stray">
          {ask.call_id !== undefined && <AskInput ask={ask} />}
          <Question ask={ask} />
        </div>
      ))}
      {interrupted && (
        <Stopped
          words={words.__(
            'Interrupted: the kernel ended before the answer did. What was done up to here is kept; ask again to go on.'
          )}
        />
      )}
      {open && live && doing !== undefined && doing.type !== 'idle' && (
        <Foot
          messages={messages}
          status={doing}
          asks={segment.asks.length + (segment.questions ?? []).length > 0}
        />
      )}
    </section>
  );
}

/** Says above a turn that it was not begun in the mode that asks. */
function Moded({ mode }: { mode: string }) {
  const { words } = useHost();
  return (
    <p className="plm-Moded" data-mode={mode}>
      {words.__('Permission mode: %1', modeNamed(mode, words))}
    </p>
  );
}

function isFirst({ first_step, start }: ISegment): boolean {
  return (
    first_step <= 1 && (start === undefined || start.part + start.offset === 0)
  );
}

interface ILineProps {
  line: Line;
  segment: ISegment;
  live: boolean;
  newest: boolean;
  again: boolean;
}

function LineView({ line, segment, live, newest, again }: ILineProps) {
  const { words } = useHost();
  switch (line.kind) {
    case 'text':
      return (
        <>
          <Text text={line.part.text} live={live} />
          <Wished
            target={line.part.id}
            decisions={about(segment.decisions, line.part)}
          />
        </>
      );
    case 'prompt':
      return (
        <>
          <blockquote className="plm-Prompt" aria-label={words.__('You said')}>
            {line.part.text}
          </blockquote>
          <Wished
            target={line.part.id}
            decisions={about(segment.decisions, line.part)}
          />
        </>
      );
    case 'reasoning':
      return (
        <Reasoning
          part={line.part}
          decisions={about(segment.decisions, line.part)}
        />
      );
    case 'tool':
      return (
        <Tool
          part={line.part}
          ask={segment.asks.find(ask => ask.call_id === line.part.call_id)}
          asked={segment.questions?.find(
            one => one.call_id === line.part.call_id
          )}
          reply={segment.replies[line.part.call_id]}
          decisions={about(segment.decisions, line.part)}
          over={!live && !segment.open}
          newest={newest}
          live={live}
        />
      );
    case 'reads':
      return <Reads parts={line.parts} decisions={segment.decisions} />;
    case 'file':
      return <File file={line.part} />;
    case 'patch':
      return (
        <p className="plm-Muted">
          {words.__('Changed: %1', listed(line.part.files, words))}
        </p>
      );
    case 'subtask':
      return (
        <p className="plm-Muted">
          {words.__('Handed to %1: %2', line.part.agent, line.part.description)}
        </p>
      );
    case 'notice':
      return (
        <p className="plm-Muted" role="note">
          ! {line.part.text}
        </p>
      );
    case 'retry':
      return <Retry part={line.part} before={line.before} />;
    case 'step':
      return <Step part={line.part} number={line.number} />;
    case 'compaction':
      return (
        <Compaction
          summary={line.summary}
          state={line.state}
          overflow={line.part.overflow}
          written={line.written}
          decisions={segment.decisions}
        />
      );
    case 'error':
      return <Failure error={line.error} again={again} />;
  }
}

/** So many files are named; the rest is counted. */
const MOST_FILES = 5;

function listed(files: readonly string[], words: IWords): string {
  const names = files.slice(0, MOST_FILES).join(', ');
  return files.length > MOST_FILES
    ? words.__('%1 and %2 more', names, files.length - MOST_FILES)
    : names;
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
    <Fold className="plm-Reasoning" head={<span>{head}</span>}>
      <Markdown text={part.text} />
      <Wish target={part.id} decisions={decisions} />
    </Fold>
  );
}
