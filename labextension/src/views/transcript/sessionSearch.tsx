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

/** Draws the field, how many occurrences there are, and the buttons to go through them. */
export function SessionSearch(props: ISessionSearchProps) {
  const { turns, elementRef, request, onLeave, onClose } = props;
  const { Icon, words } = useHost();
  const [searched, setSearched] = useState('');
  const field = useRef<HTMLInputElement>(null);
  const hits = useHits(turns, searched);
  /** The occurrence that was gone to; null while it is the first from where the reader was. */
  const [chosen, setChosen] = useState<number | null>(null);
  const [origin, setOrigin] = useState(0);
  const at = Math.min(
    chosen ?? firstFrom(hits, turns, origin),
    hits.length - 1
  );
  const hit = hits[at];
  useEffect(() => {
    field.current?.focus();
    field.current?.select();
  }, [request]);
  useShownHit(hit, searched, elementRef, onLeave);
  const go = (by: number) => {
    if (hits.length > 0) {
      setChosen((at + by + hits.length) % hits.length);
    }
  };
  useKeys(elementRef, { go, onClose });
  return (
    <div
      className="plm-SessionSearch"
      role="search"
      aria-label={words.__('Find in this session')}
      onKeyDown={event => {
        if (event.key === 'Enter' && event.target === field.current) {
          event.preventDefault();
          go(event.shiftKey ? -1 : 1);
        } else {
          onKey(event, { go, onClose });
        }
      }}
    >
      <input
        ref={field}
        type="search"
        className="plm-Field"
        aria-label={words.__('Find in this session')}
        placeholder={words.__('Find in this session')}
        value={searched}
        onChange={event => {
          if (searched === '') {
            setOrigin(firstInView(elementRef.current));
          }
          setChosen(null);
          setSearched(event.target.value);
        }}
      />
      <span className="plm-SessionSearch-count" role="status">
        {positionText(at, hits.length, searched, words)}
      </span>
      {(
        [
          [-1, '↑', words.__('Previous occurrence')],
          [1, '↓', words.__('Next occurrence')]
        ] as const
      ).map(([by, sign, name]) => (
        <button
          key={by}
          type="button"
          className="plm-SessionSearch-button"
          aria-label={name}
          title={name}
          disabled={hits.length === 0}
          onClick={() => {
            go(by);
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
  at: number,
  all: number,
  searched: string,
  words: IWords
): string {
  if (searched.trim() === '') {
    return '';
  }
  return all === 0 ? words.__('nothing') : words.__('%1 of %2', at + 1, all);
}

interface ISearchKeys {
  go: (by: number) => void;
  onClose: () => void;
}

/** Goes through the occurrences with F3, and closes the search with Escape. */
function onKey(
  event: Pick<
    KeyboardEvent,
    'key' | 'shiftKey' | 'preventDefault' | 'stopPropagation'
  >,
  { go, onClose }: ISearchKeys
): void {
  if (event.key !== 'F3' && event.key !== 'Escape') {
    return;
  }
  event.preventDefault();
  event.stopPropagation();
  if (event.key === 'Escape') {
    onClose();
  } else {
    go(event.shiftKey ? -1 : 1);
  }
}

/** Listens to the keys in the transcript, too. */
function useKeys(elementRef: RefObject<HTMLElement>, keys: ISearchKeys): void {
  const newest = useLatest(keys);
  useEffect(() => {
    const node = elementRef.current;
    const listen = (event: globalThis.KeyboardEvent) => {
      onKey(event, newest.current);
    };
    node?.addEventListener('keydown', listen);
    return () => {
      node?.removeEventListener('keydown', listen);
    };
  }, [elementRef, newest]);
}

/** Returns the occurrences in all turns; only turns that changed are searched again. */
function useHits(turns: readonly ITurn[], searched: string): readonly IHit[] {
  const { pattern, known } = useMemo(
    () => ({
      pattern: wordPattern(searched),
      known: new WeakMap<ITurn, readonly IHit[]>()
    }),
    [searched]
  );
  return useMemo(
    () =>
      pattern === null
        ? []
        : turns.flatMap(turn => {
            const turnHits = known.get(turn) ?? hitsInTurn(turn, pattern);
            known.set(turn, turnHits);
            return turnHits;
          }),
    [turns, pattern, known]
  );
}

/** Returns the first occurrence in a turn or after it; the first of all if there is none. */
function firstFrom(
  hits: readonly IHit[],
  turns: readonly ITurn[],
  origin: number
): number {
  const later = new Set(turns.slice(origin).map(({ key }) => key));
  return Math.max(
    0,
    hits.findIndex(({ turnKey: turn }) => later.has(turn))
  );
}

/** Returns the place of the first turn that the reader sees, from 0. */
function firstInView(container: HTMLElement | null): number {
  const top = container?.getBoundingClientRect().top ?? 0;
  const row = [...(container?.querySelectorAll('.plm-Turn') ?? [])].find(
    turnRow => turnRow.getBoundingClientRect().bottom > top
  );
  return Number(row?.getAttribute('aria-posinset') ?? 1) - 1;
}

/** Names of the highlights in the style sheet. */
const ALL = 'plm-found';
const CURRENT = 'plm-found-current';

/** Milliseconds in which a place that was just rendered gets its text and its height. */
const SETTLE_MS = 3000;

/** Opens what is folded around an occurrence, paints it with the others in view, and scrolls to it. */
function useShownHit(
  hit: IHit | undefined,
  searched: string,
  elementRef: RefObject<HTMLElement>,
  onLeave: () => void
): void {
  const leave = useLatest(onLeave);
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
    const pattern = wordPattern(searched);
    if (node === null || pattern === null || turn === '') {
      openedPlace.set(null);
      return;
    }
    leave.current();
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
      const inLine = textRanges(root ?? row ?? node, pattern);
      const current = inLine[Math.min(number, inLine.length - 1)];
      paintRanges(ALL, inView(node, pattern));
      paintRanges(CURRENT, current === undefined ? [] : [current]);
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
      paintRanges(ALL, []);
      paintRanges(CURRENT, []);
    };
  }, [turn, line, number, isInside, kind, searched, elementRef, leave]);
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
function inView(container: HTMLElement, pattern: RegExp): Range[] {
  return [...container.querySelectorAll('.plm-Turn[data-far="false"]')].flatMap(
    row => textRanges(row, pattern)
  );
}
