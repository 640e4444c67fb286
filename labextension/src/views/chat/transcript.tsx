/**
 * The session's story, from its first prompt to the newest word.
 */
import {
  memo,
  useEffect,
  useMemo,
  useRef,
  useState,
  type ReactNode
} from 'react';
import type {
  Ask,
  Decision,
  Origin,
  QuestionAsked
} from '../../protocol/generated';
import { SEGMENT_VERSION, type ISegment } from '../../protocol/segment';
import {
  changesOf,
  takenBack,
  takenOf,
  type Taken
} from '../../state/reverted';
import { isBusy, strayAsks } from '../../state/standing';
import type { ITranscript } from '../../state/transcript';
import { turns, type ITurn } from '../../state/turns';
import { useHost, type IWords } from '../host';
import { Plain } from '../plain';
import { PermissionPrompt } from '../question';
import { Segment } from '../segment';
import { Words } from '../words';
import { Wished } from '../wish';
import { Begin } from './notice';
import { ForkHere } from './fork';
import { RevertTo } from './revert';

/** So near to the end, in pixels, a person is taken to look at the newest. */
const NEAR = 40;

export interface ITranscriptProps {
  transcript: ITranscript;
  /** Another kernel writes this session. */
  readOnly: boolean;
  /** What stands there before anything was said; else how to begin. */
  empty?: ReactNode;
  /** What waits below the newest turn. */
  children?: ReactNode;
}

/** Draws the transcript; it stays at its end until a person scrolls up. */
export function Transcript({
  transcript,
  readOnly,
  empty = <Begin />,
  children
}: ITranscriptProps) {
  const { words } = useHost();
  const shown = useTurns(transcript);
  const busy = isBusy(transcript);
  const taken = takenBack(transcript);
  const { place, atEnd, toEnd } = useEnd();
  return (
    <div className="plm-Transcript-frame">
      <div
        className="plm-Transcript"
        ref={place}
        role="region"
        aria-label={words.__('Transcript')}
        tabIndex={0}
      >
        <div className="plm-Transcript-turns">
          {shown.length === 0 && empty}
          {shown.map((turn, index) => (
            <Turn
              key={turn.key}
              turn={turn}
              live={busy && index === shown.length - 1}
              again={!busy && !readOnly && index === shown.length - 1}
              asks={transcript.asks}
              questions={transcript.questions}
              decisions={transcript.decisions}
              replies={transcript.replies}
              session={transcript.session?.id ?? ''}
              isTask={transcript.session?.parent_id !== undefined}
              taken={takenOf(
                taken,
                turn.places.map(({ id }) => id)
              )}
            />
          ))}
          {strayAsks(transcript).map(ask => (
            <div key={ask.id} className="plm-Stray">
              <PermissionPrompt ask={ask} />
            </div>
          ))}
          {children}
        </div>
      </div>
      {!atEnd && (
        <button type="button" className="plm-Button plm-Newest" onClick={toEnd}>
          {words.__('To the newest')}
        </button>
      )}
    </div>
  );
}

interface ITurnProps {
  turn: ITurn;
  live: boolean;
  again: boolean;
  asks: readonly Ask[];
  questions: readonly QuestionAsked[];
  decisions: readonly Decision[];
  replies: ITranscript['replies'];
  session: string;
  /** Another agent's work: the prompts are the agent's that began it. */
  isTask: boolean;
  taken: Taken;
}

const Turn = memo(
  function Turn(props: ITurnProps) {
    const {
      turn,
      live,
      again,
      asks,
      questions,
      decisions,
      replies,
      session,
      isTask,
      taken
    } = props;
    const { words } = useHost();
    const segment = useMemo(
      (): ISegment => ({
        version: SEGMENT_VERSION,
        session,
        turn: turn.key,
        seq: [0, 0],
        open: live,
        messages: turn.messages,
        asks: [...asks],
        questions: [...questions],
        replies,
        decisions: [...decisions],
        first_step: 1,
        status: '',
        changes: changesOf(turn.places[0]?.message.info)
      }),
      [turn, live, asks, questions, decisions, replies, session]
    );
    const where = isTask
      ? words.__('from the agent')
      : from(turn.origin, words);
    return (
      <article className="plm-Turn" data-taken={taken}>
        {turn.prompt !== null && (
          <div className="plm-Said">
            <div className="plm-Said-where">
              <span className="plm-Hidden">
                {isTask ? words.__('Asked') : words.__('You said')}{' '}
              </span>
              {where}
              {taken === 'whole' && <strong>{words.__('Taken back')}</strong>}
              {taken !== 'whole' && !live && (
                <span className="plm-Said-deeds">
                  <ForkHere session={session} target={turn.key} />
                  <RevertTo target={turn.key} />
                </span>
              )}
            </div>
            <Words text={turn.prompt} />
            {turn.attached.map(part => (
              <Plain key={part.id} part={part} />
            ))}
            <Wished
              target={turn.key}
              decisions={decisions.filter(
                ({ message_id }) => message_id === turn.key
              )}
            />
          </div>
        )}
        {(turn.messages.length > 0 || live) && (
          <Segment segment={segment} live={live} again={again} />
        )}
      </article>
    );
  },
  // A question or a decision touches the turn that runs, or came with a change of the turn.
  (before, now) =>
    before.turn === now.turn &&
    before.live === now.live &&
    before.again === now.again &&
    before.session === now.session &&
    before.isTask === now.isTask &&
    before.taken === now.taken &&
    (!now.live || before.asks === now.asks) &&
    (!now.live || before.questions === now.questions) &&
    before.decisions === now.decisions &&
    (!now.live || before.replies === now.replies)
);

/** Says where a prompt was written. */
export function from(origin: Origin | undefined, words: IWords): string {
  switch (origin?.kind) {
    case 'cell':
      return origin.execution_count === undefined
        ? words.__('cell')
        : words.__('cell [%1]', origin.execution_count);
    case 'panel':
      return words.__('panel');
    case 'api':
      return words.__('from Python');
    case 'engine':
      return words.__('from the agent');
    case undefined:
      return '';
  }
}

/** Groups a transcript into turns, and keeps those in which nothing changed. */
function useTurns(transcript: ITranscript): readonly ITurn[] {
  const [known, setKnown] = useState<{
    places: ITranscript['places'];
    turns: readonly ITurn[];
  }>({ places: [], turns: [] });
  if (known.places === transcript.places) {
    return known.turns;
  }
  const now = turns(transcript, known.turns);
  setKnown({ places: transcript.places, turns: now });
  return now;
}

/** So long after its size changed, a browser may still move what is in it. */
const SETTLE_MS = 400;

/** How a person scrolls, beside the wheel. */
const ACTS = ['keydown', 'pointerdown', 'touchmove'] as const;

/** Keeps a scrolled place at its end while it grows, unless a person looks at something above. */
function useEnd() {
  const place = useRef<HTMLDivElement>(null);
  const sticks = useRef(true);
  const [atEnd, setAtEnd] = useState(true);
  useEffect(() => {
    const node = place.current;
    const grows = node?.firstElementChild;
    if (node === null || !grows) {
      return;
    }
    const size = () => `${node.scrollHeight} ${node.clientHeight}`;
    let known = size();
    let changed = 0;
    let acted = 0;
    const onScroll = () => {
      const now = performance.now();
      // Where the sizes change or just changed, the browser moved it and no person did.
      const settles = now - changed < SETTLE_MS && now - acted > SETTLE_MS;
      if (sticks.current && (settles || size() !== known)) {
        follow();
        return;
      }
      const left = node.scrollHeight - node.scrollTop - node.clientHeight;
      sticks.current = left <= NEAR;
      setAtEnd(sticks.current);
    };
    const follow = () => {
      const now = size();
      if (now !== known) {
        known = now;
        changed = performance.now();
      }
      if (sticks.current) {
        node.scrollTop = node.scrollHeight;
      }
    };
    const onAct = () => {
      acted = performance.now();
    };
    const onWheel = ({ deltaY }: WheelEvent) => {
      onAct();
      if (deltaY < 0 && node.scrollTop > 0) {
        sticks.current = false;
      }
    };
    const watch =
      'ResizeObserver' in window ? new ResizeObserver(follow) : null;
    watch?.observe(grows);
    watch?.observe(node);
    node.addEventListener('scroll', onScroll, { passive: true });
    node.addEventListener('wheel', onWheel, { passive: true });
    for (const act of ACTS) {
      node.addEventListener(act, onAct, { passive: true });
    }
    follow();
    return () => {
      watch?.disconnect();
      node.removeEventListener('scroll', onScroll);
      node.removeEventListener('wheel', onWheel);
      for (const act of ACTS) {
        node.removeEventListener(act, onAct);
      }
    };
  }, []);
  const toEnd = () => {
    sticks.current = true;
    place.current?.scrollTo({ top: place.current.scrollHeight });
    place.current?.focus();
  };
  return { place, atEnd, toEnd };
}
