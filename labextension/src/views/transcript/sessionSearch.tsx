/** The field that searches all turns of a session, also those that are not rendered. */
import {
  useEffect,
  useMemo,
  useRef,
  useState,
  type KeyboardEvent,
  type RefObject
} from 'react';
import { densityChoice } from '../../state/display/density';
import {
  hitsInTurn,
  wordPattern,
  type IHit
} from '../../state/display/foundText';
import { openedPlace } from '../../state/display/openedPlace';
import type { ITurn } from '../../state/display/turns';
import { paintRanges, scrollToRange, textRanges } from '../dom/textRanges';
import { useHost, type IWords } from '../host';
import { useLatest } from '../dom/effects';

interface ISessionSearchProps {
  turns: readonly ITurn[];
  /** The scroll container of the turns. */
  elementRef: RefObject<HTMLElement>;
  /** Grows with each request to search; the field is then focused. */
  request: number;
  /** Called before something is scrolled to. */
  onLeave: () => void;
  onClose: () => void;
}

/** Draws the field, the number of occurrences, and the buttons to go through them. */
export function SessionSearch(props: ISessionSearchProps) {
  const { turns, elementRef, request, onLeave, onClose } = props;
  const { Icon, words } = useHost();
  const [query, setQuery] = useState('');
  const fieldRef = useRef<HTMLInputElement>(null);
  const hits = useHits(turns, query);
  /** The occurrence that the reader went to; null while it is the first from where the reader was. */
  const [chosenIndex, setChosenIndex] = useState<number | null>(null);
  const [startIndex, setStartIndex] = useState(0);
  const hitIndex = Math.min(
    chosenIndex ?? firstHitFrom(hits, turns, startIndex),
    hits.length - 1
  );
  const hit = hits[hitIndex];
  useEffect(() => {
    fieldRef.current?.focus();
    fieldRef.current?.select();
  }, [request]);
  useShownHit(hit, query, elementRef, onLeave);
  const moveBy = (offset: number) => {
    if (hits.length > 0) {
      setChosenIndex((hitIndex + offset + hits.length) % hits.length);
    }
  };
  useSearchKeys(elementRef, { moveBy, onClose });
  return (
    <div
      className="plm-SessionSearch"
      role="search"
      aria-label={words.__('Find in this session')}
      onKeyDown={event => {
        if (event.key === 'Enter' && event.target === fieldRef.current) {
          event.preventDefault();
          moveBy(event.shiftKey ? -1 : 1);
        } else {
          handleKey(event, { moveBy, onClose });
        }
      }}
    >
      <input
        ref={fieldRef}
        type="search"
        className="plm-Field"
        aria-label={words.__('Find in this session')}
        placeholder={words.__('Find in this session')}
        value={query}
        onChange={event => {
          if (query === '') {
            setStartIndex(firstTurnInView(elementRef.current));
          }
          setChosenIndex(null);
          setQuery(event.target.value);
        }}
      />
      <span className="plm-SessionSearch-count" role="status">
        {positionText(hitIndex, hits.length, query, words)}
      </span>
      {(
        [
          [-1, '↑', words.__('Previous occurrence')],
          [1, '↓', words.__('Next occurrence')]
        ] as const
      ).map(([offset, sign, name]) => (
        <button
          key={offset}
          type="button"
          className="plm-SessionSearch-button"
          aria-label={name}
          title={name}
          disabled={hits.length === 0}
          onClick={() => {
            moveBy(offset);
          }}
        >
          {sign}
        </button>
      ))}
      <button
        type="button"
        className="plm-SessionSearch-button"
        aria-label={words.__('Close the search')}
        title={words.__('Close the search')}
        onClick={onClose}
      >
        <Icon name="failed" />
      </button>
    </div>
  );
}

function positionText(
  hitIndex: number,
  hitCount: number,
  query: string,
  words: IWords
): string {
  if (query.trim() === '') {
    return '';
  }
  return hitCount === 0
    ? words.__('nothing')
    : words.__('%1 of %2', hitIndex + 1, hitCount);
}

interface ISearchKeys {
  moveBy: (by: number) => void;
  onClose: () => void;
}

/** Goes through the occurrences with F3, and closes the search with Escape. */
function handleKey(
  event: Pick<
    KeyboardEvent,
    'key' | 'shiftKey' | 'preventDefault' | 'stopPropagation'
  >,
  { moveBy, onClose }: ISearchKeys
): void {
  if (event.key !== 'F3' && event.key !== 'Escape') {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  if (event.key === 'Escape') {
    onClose();
  } else {
    moveBy(event.shiftKey ? -1 : 1);
  }
}

/** Listens to the keys in the transcript, too. */
function useSearchKeys(
  elementRef: RefObject<HTMLElement>,
  keys: ISearchKeys
): void {
  const keysRef = useLatest(keys);
  useEffect(() => {
    const node = elementRef.current;
    const listen = (event: globalThis.KeyboardEvent) => {
      handleKey(event, keysRef.current);
    };
    node?.addEventListener('keydown', listen);
    return () => {
      node?.removeEventListener('keydown', listen);
    };
  }, [elementRef, keysRef]);
}

/** Returns the occurrences in all turns; only turns that changed are searched again. */
function useHits(turns: readonly ITurn[], query: string): readonly IHit[] {
  const { pattern, known: hitsOfTurn } = useMemo(
    () => ({
      pattern: wordPattern(query),
      known: new WeakMap<ITurn, readonly IHit[]>()
    }),
    [query]
  );
  return useMemo(
    () =>
      pattern === null
        ? []
        : turns.flatMap(turn => {
            const turnHits = hitsOfTurn.get(turn) ?? hitsInTurn(turn, pattern);
            hitsOfTurn.set(turn, turnHits);
            return turnHits;
          }),
    [turns, pattern, hitsOfTurn]
  );
}

/** Returns the first occurrence in a turn or after it; the first of all if there is none. */
function firstHitFrom(
  hits: readonly IHit[],
  turns: readonly ITurn[],
  startIndex: number
): number {
  const laterKeys = new Set(turns.slice(startIndex).map(({ key }) => key));
  return Math.max(
    0,
    hits.findIndex(({ turnKey: turn }) => laterKeys.has(turn))
  );
}

/** Returns the place of the first turn that the reader sees, from 0. */
function firstTurnInView(container: HTMLElement | null): number {
  const top = container?.getBoundingClientRect().top ?? 0;
  const row = [...(container?.querySelectorAll('.plm-Turn') ?? [])].find(
    turnRow => turnRow.getBoundingClientRect().bottom > top
  );
  return Number(row?.getAttribute('aria-posinset') ?? 1) - 1;
}

/** Names of the highlights in the style sheet. */
const ALL_HITS = 'plm-found';
const CURRENT_HIT = 'plm-found-current';

/** Milliseconds in which a place that was just rendered gets its text and its height. */
const SETTLE_MS = 3000;

/** Opens what is folded around an occurrence, paints it with the others in view, and scrolls to it. */
function useShownHit(
  hit: IHit | undefined,
  query: string,
  elementRef: RefObject<HTMLElement>,
  onLeave: () => void
): void {
  const leaveRef = useLatest(onLeave);
  useEffect(
    () => () => {
      openedPlace.set(null);
    },
    []
  );
  const {
    turnKey: turn,
    lineKey: line,
    index: number,
    isInside,
    kind
  } = hit ?? NO_HIT;
  useEffect(() => {
    const node = elementRef.current;
    const pattern = wordPattern(query);
    if (node === null || pattern === null || turn === '') {
      openedPlace.set(null);
      return;
    }
    leaveRef.current();
    openedPlace.set({ turnKey: turn, lineKey: line });
    const startedAt = performance.now();
    let frame = 0;
    const paintAll = () => {
      frame = 0;
      const row = rowOf(node, turn);
      const root = lineOf(row, line, isInside);
      if (root === null && kind === 'reasoning' && row !== null) {
        // A short thought has a row only where all steps have.
        densityChoice.setTurn(turn, 'all steps');
      }
      const lineRanges = textRanges(root ?? row ?? node, pattern);
      const current = lineRanges[Math.min(number, lineRanges.length - 1)];
      paintRanges(ALL_HITS, rangesInView(node, pattern));
      paintRanges(CURRENT_HIT, current === undefined ? [] : [current]);
      if (performance.now() - startedAt > SETTLE_MS) {
        return; // from here on the reader scrolls
      }
      if (current !== undefined) {
        scrollToRange(current, node);
      } else {
        (root ?? row)?.scrollIntoView({ block: 'nearest' });
      }
    };
    const paintSoon = () => {
      frame = frame === 0 ? requestAnimationFrame(paintAll) : frame;
    };
    const domObserver = new MutationObserver(paintSoon);
    domObserver.observe(node, {
      childList: true,
      characterData: true,
      subtree: true
    });
    paintAll();
    paintSoon();
    return () => {
      domObserver.disconnect();
      cancelAnimationFrame(frame);
      paintRanges(ALL_HITS, []);
      paintRanges(CURRENT_HIT, []);
    };
  }, [turn, line, number, isInside, kind, query, elementRef, leaveRef]);
}

const NO_HIT: IHit = {
  turnKey: '',
  lineKey: '',
  index: 0,
  isInside: false,
  kind: 'text'
};

function rowOf(container: HTMLElement, turn: string): Element | null {
  return container.querySelector(`.plm-Turn[data-turn="${CSS.escape(turn)}"]`);
}

/** Returns the element of a line, or what it opens to. */
function lineOf(
  row: Element | null,
  line: string,
  isInside: boolean
): Element | null {
  const element =
    row?.querySelector(`[data-line="${CSS.escape(line)}"]`) ?? null;
  const inside =
    element?.querySelector(':scope > .plm-Disclosure-body') ?? null;
  return isInside && inside !== null ? inside : element;
}

/** Returns the occurrences in the turns that are rendered. */
function rangesInView(container: HTMLElement, pattern: RegExp): Range[] {
  return [...container.querySelectorAll('.plm-Turn[data-far="false"]')].flatMap(
    row => textRanges(row, pattern)
  );
}
