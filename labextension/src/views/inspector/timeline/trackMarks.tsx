/** The marks below a track: what happened at a request, each kind in a form of its own, and what they mean. */
import { memo, useMemo } from 'react';
import type { NoteView, TimelineView } from '../../../protocol/generated';
import { oneLine } from '../../../state/text/oneLine';
import { useHost, type IWords } from '../../host';
import {
  useInspectedSession,
  type IInspectedSession
} from '../controls/inspection';
import { useReaderNotes } from '../notes/readerNotes';

export interface ITrackMark {
  readonly request: number;
  readonly kind: string;
  readonly title: string;
  /** How much it weighs among marks of its kind: the price of a break, the number of cleared items. */
  readonly weight: number;
  /** How many marks of the same request stand before it. */
  readonly place: number;
}

/** What changes most of a request, or costs most, comes first. */
const HEAVIEST_KINDS: readonly string[] = [
  'compact',
  'break',
  'taken',
  'prune',
  'fired',
  'compact failed',
  'undo',
  'fork',
  'model',
  'effort',
  'note'
];

/** Returns how heavy a kind is: 0 is the heaviest. */
function kindRank(kind: string): number {
  const rank = HEAVIEST_KINDS.indexOf(kind);
  return rank < 0 ? HEAVIEST_KINDS.length : rank;
}

/** Returns marks in the order in which they are painted: the heaviest last, so that none hides it. */
export function lightestFirst(marks: readonly ITrackMark[]): ITrackMark[] {
  return [...marks].sort((left, right) => byWeight(right, left));
}

function byWeight(
  left: Pick<ITrackMark, 'kind' | 'weight'>,
  right: Pick<ITrackMark, 'kind' | 'weight'>
): number {
  return (
    kindRank(left.kind) - kindRank(right.kind) || right.weight - left.weight
  );
}

/** Width of a mark. */
export const MARK_PX = 7;

/** Returns the marks of the recorded track, its prunes, events, breaks and notes of people, the heaviest first. */
export function recordedMarks(
  view: TimelineView,
  words: IWords,
  notes: readonly NoteView[]
): ITrackMark[] {
  return withPlaces([
    ...view.pruned.map(({ request, items }) => ({
      request,
      kind: 'prune',
      weight: items,
      title: words.__(
        'Request %1: %2',
        request + 1,
        words._n(
          '%1 item was cleared or shortened',
          '%1 items were cleared or shortened',
          items
        )
      )
    })),
    ...view.events
      .filter(({ kind }) => kind !== 'prune')
      .map(({ request, kind, cause }) => ({
        request,
        kind,
        weight: 0,
        title:
          kind === 'compact failed'
            ? words.__(
                'Request %1: a summary failed or was stopped, %2',
                request + 1,
                cause
              )
            : words.__(
                'Request %1: %2 %3',
                request + 1,
                markWords(kind, words),
                cause
              )
      })),
    ...view.breaks.map(({ request, cost, words: legend }) => ({
      request,
      kind: 'break',
      weight: cost,
      title: words.__('Request %1: the cache breaks, %2', request + 1, legend)
    })),
    ...[...notesByRequest(notes)].map(([request, texts]) => ({
      request,
      kind: 'note',
      weight: 0,
      title: words.__('Request %1: %2', request + 1, texts.join(' · '))
    }))
  ]);
}

/** Returns the marks that tell nothing of what is hidden. */
export function shownMarks(
  marks: readonly ITrackMark[],
  hidden: IInspectedSession['hiddenParts']
): readonly ITrackMark[] {
  return hidden.has('breaks')
    ? marks.filter(({ kind }) => kind !== 'break' && kind !== 'taken')
    : marks;
}

/** Returns what the notes say at each request that has some; several of one request have one mark. */
function notesByRequest(
  notes: readonly NoteView[]
): ReadonlyMap<number, readonly string[]> {
  const texts = new Map<number, string[]>();
  for (const { note, found } of notes) {
    if (found.request !== undefined) {
      const said = [note.verdict, note.tag, note.text].filter(Boolean);
      texts.set(found.request, [
        ...(texts.get(found.request) ?? []),
        oneLine(said.join(': '))
      ]);
    }
  }
  return texts;
}

/** Returns the marks of a policy's track: where its rule acted, and where the cache is lost as in the recording. */
export function policyMarks(
  fired: readonly number[],
  taken: readonly number[],
  words: IWords
): ITrackMark[] {
  return withPlaces([
    ...fired.map(request => ({
      request,
      kind: 'fired',
      weight: 0,
      title: words.__('Request %1: the rule acted', request + 1)
    })),
    ...taken.map(request => ({
      request,
      kind: 'taken',
      weight: 0,
      title: words.__(
        'Request %1: the cache breaks as in the recording, where nothing explains it',
        request + 1
      )
    }))
  ]);
}

/** Returns the marks, the heaviest first, with those of one request beside each other: none hides another. */
function withPlaces(marks: readonly Omit<ITrackMark, 'place'>[]): ITrackMark[] {
  const markCounts = new Map<number, number>();
  return [...marks].sort(byWeight).map(mark => {
    const place = markCounts.get(mark.request) ?? 0;
    markCounts.set(mark.request, place + 1);
    return { ...mark, place };
  });
}

/** Returns the kinds of the marks at each request that has some, in the order of the marks. */
export function marksByRequest(
  marks: readonly ITrackMark[]
): ReadonlyMap<number, readonly string[]> {
  const kindsByRequest = new Map<number, string[]>();
  for (const { request, kind } of marks) {
    const kinds = kindsByRequest.get(request) ?? [];
    if (!kinds.includes(kind)) {
      kindsByRequest.set(request, [...kinds, kind]);
    }
  }
  return kindsByRequest;
}

/** The SVG paths of the kinds, from the middle of their upper edge. */
const PATHS: Readonly<Partial<Record<string, string>>> = {
  break: 'l3.5 7h-7z',
  taken: 'l3.5 7h-1.6l-1.9-4l-1.9 4h-1.6z',
  fired: 'm-3.5 0h1.6l1.9 4l1.9-4h1.6l-3.5 7z',
  prune: 'h3.5l-3.5 7l-3.5-7z',
  compact: 'l3.5 3.5l-3.5 3.5l-3.5-3.5z',
  'compact failed': 'l3.5 3.5l-3.5 3.5z',
  note: 'm-3 0h6v4.5h-3.5l-1.5 2.5v-2.5h-1z',
  model: 'h2.5v6h-5v-6z',
  effort: 'm-3.5 2h7v3h-7z',
  undo: 'm3.5 0l-7 3.5l7 3.5z',
  fork: 'm3.5 0l-7 3.5l7 3.5z'
};
const OTHER_PATH = 'h.8v7h-1.6v-7z';

/**
 * Returns the path of a mark: each kind has its own form, so that colours need not be distinguished. What a policy does
 * is the outline of what was done.
 */
export function markPath(kind: string, x: number, y: number): string {
  return `M${x.toFixed(1)} ${y}${PATHS[kind] ?? OTHER_PATH}`;
}

/** Returns the name of a kind of mark. */
export function markWords(kind: string, words: IWords): string {
  switch (kind) {
    case 'break':
      return words.__('cache break');
    case 'taken':
      return words.__('cache break of the recording');
    case 'prune':
      return words.__('cleared or shortened');
    case 'fired':
      return words.__('the policy acted');
    case 'compact':
      return words.__('compaction');
    case 'compact failed':
      return words.__('failed compaction');
    case 'note':
      return words.__('note');
    case 'model':
      return words.__('another model');
    case 'effort':
      return words.__('another effort');
    case 'undo':
      return words.__('reverted or undone');
    case 'fork':
      return words.__('fork');
    default:
      return kind;
  }
}

/** Draws what the marks mean that the tracks have. */
export const MarkLegend = memo(function MarkLegend() {
  const { words } = useHost();
  const { view, whatIf, hiddenParts } = useInspectedSession();
  const { notes } = useReaderNotes();
  const isFired = (whatIf?.track.fired.length ?? 0) > 0;
  const isTaken = (whatIf?.track.taken.length ?? 0) > 0;
  const kinds = useMemo(
    () =>
      [
        ...new Set([
          ...shownMarks(recordedMarks(view, words, notes), hiddenParts).map(
            mark => mark.kind
          ),
          ...(isFired ? ['fired'] : []),
          ...(isTaken && !hiddenParts.has('breaks') ? ['taken'] : [])
        ])
      ].sort((left, right) => kindRank(left) - kindRank(right)),
    [view, notes, isFired, isTaken, hiddenParts, words]
  );
  return kinds.length === 0 ? null : (
    <ul
      className="plm-MarkLegend plm-Muted"
      aria-label={words.__('What the marks mean')}
    >
      {kinds.map(kind => (
        <li key={kind}>
          <svg width="9" height="9" aria-hidden="true">
            <path
              className="plm-Track-mark"
              data-kind={kind}
              d={markPath(kind, 4.5, 1)}
            />
          </svg>
          {markWords(kind, words)}
        </li>
      ))}
    </ul>
  );
});
