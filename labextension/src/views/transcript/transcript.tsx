/**
 * The session's story, from its first prompt to the newest word.
 */
import { useEffect, useMemo, useRef, useState, type ReactNode } from 'react';
import { pages, type ITurnPage } from '../../state/display/turnPages';
import { revertedMessages } from '../../state/session/reverts';
import { isBusy, unattachedAsks } from '../../state/session/status';
import type { ITranscript } from '../../state/store/transcript';
import { turns, type ITurn } from '../../state/display/turns';
import { useHost } from '../host';
import { PermissionPrompt } from '../parts/permissionPrompt';
import { ScrollProvider } from '../dom/nearViewport';
import { TurnPage, TurnListProvider } from './turnRows';

/** So near to the end, in pixels, a person is taken to look at the newest. */
const NEAR = 40;

export interface ITranscriptProps {
  transcript: ITranscript;
  /** Another kernel writes this session. */
  readOnly: boolean;
  /** What stands there before anything was said. */
  empty: ReactNode;
  /** What waits below the newest turn. */
  children?: ReactNode;
}

/** Draws the transcript; it stays at its end until a person scrolls up. */
export function Transcript({
  transcript,
  readOnly,
  empty,
  children
}: ITranscriptProps) {
  const { words } = useHost();
  const shown = usePages(transcript);
  const last = shown.at(-1);
  const count = last === undefined ? 0 : last.first + last.turns.length;
  const busy = isBusy(transcript);
  const { entries, session } = transcript;
  const taken = useMemo(
    () => revertedMessages({ entries, session }),
    [entries, session]
  );
  const { place, atEnd, toEnd } = useEnd();
  return (
    <div className="plm-Transcript-frame">
      <div
        className="plm-Transcript"
        ref={place}
        role="region"
        aria-label={words.__('Transcript')}
        data-end={atEnd}
        tabIndex={0}
      >
        <div className="plm-Transcript-turns">
          {shown.length === 0 ? (
            empty
          ) : (
            <ScrollProvider value={place}>
              <TurnListProvider transcript={transcript} count={count}>
                <div
                  className="plm-Transcript-feed"
                  role="feed"
                  aria-label={words.__('Turns')}
                >
                  {shown.map((page, number) => (
                    <TurnPage
                      key={page.first}
                      page={page}
                      newest={number === shown.length - 1}
                      live={busy && number === shown.length - 1}
                      again={!busy && !readOnly && number === shown.length - 1}
                      taken={taken}
                    />
                  ))}
                </div>
              </TurnListProvider>
            </ScrollProvider>
          )}
          {unattachedAsks(transcript).map(ask => (
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

interface IKnown {
  entries: ITranscript['entries'];
  turns: readonly ITurn[];
  pages: readonly ITurnPage[];
}

/** Groups a transcript into pages of turns, and keeps those in which nothing changed. */
function usePages({ entries }: ITranscript): readonly ITurnPage[] {
  const [known, setKnown] = useState<IKnown>({
    entries: [],
    turns: [],
    pages: []
  });
  if (known.entries === entries) {
    return known.pages;
  }
  const now = turns({ entries }, known.turns);
  const cut = pages(now, known.pages);
  setKnown({ entries, turns: now, pages: cut });
  return cut;
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
