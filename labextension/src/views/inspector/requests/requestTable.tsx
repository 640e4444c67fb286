/** Every request with what was reported of it: the table beside the timeline. */
import { useMemo, type ReactNode } from 'react';
import type { NoteView, TimelineView } from '../../../protocol/generated';
import { count, durationText } from '../../../state/text/numberFormat';
import { oneLine } from '../../../state/text/oneLine';
import { money, usdDecimals } from '../../../state/inspector/labels';
import { wholeRange } from '../../../state/inspector/figures/rangeFigures';
import { useHost, type IWords } from '../../host';
import { useInspection, type IShownTrack } from '../controls/inspection';
import { PagedRows, type ITableColumn } from '../controls/pagedRows';
import { RequestLink } from '../controls/placeLinks';
import { glossaryEntries } from '../glossary/glossary';
import { useReaderNotes } from '../notes/readerNotes';
import {
  marksByRequest,
  markWords,
  policyMarks,
  recordedMarks
} from '../timeline/trackMarks';
import { CompareBox, useComparedRequests } from './comparedRequests';

const NOT_KNOWN = '–';

interface INumberColumn extends IRequestColumn {
  readonly valueAt: (request: number) => number | null;
}

interface IWordColumn extends IRequestColumn {
  readonly foldedWords: (request: number) => string;
}

interface IRequestColumn extends ITableColumn {
  readonly cell: (request: number) => ReactNode;
}

/** Draws the page of the table that holds the cursor; two rows that are ticked are compared. */
export function RequestTable() {
  const { words } = useHost();
  const { view, shown, recorded, range } = useInspection();
  const { notes } = useReaderNotes();
  const { first, last } = range ?? wholeRange(view);
  const isRecorded = shown === recorded;
  const columns = useMemo(
    () => [
      ...numberColumns(view, shown, isRecorded, words).map(column => ({
        ...column,
        valueAt: (row: number) => column.valueAt(first + row)
      })),
      ...wordColumns(view, shown, isRecorded, words, notes).map(column => ({
        ...column,
        foldedWords: (row: number) => column.foldedWords(first + row)
      }))
    ],
    [view, shown, isRecorded, first, words, notes]
  );
  const compared = useComparedRequests();
  const hasTwo = view.requests.id.length > 1;
  const models = new Set(view.requests.model);
  const model = view.models[view.requests.model[0] ?? -1] ?? '';
  return (
    <>
      <PagedRows
        caption={words.__('Requests, %1', shown.track.policy)}
        columns={[
          { ...REQUEST_COLUMN, head: words.__('request') },
          ...(hasTwo
            ? [{ head: words.__('compare'), isHeadHidden: true }]
            : []),
          ...columns
        ]}
        count={last - first + 1}
        foldedRemark={
          models.size > 1
            ? words.__(
                'Where no model is named, it is %1.',
                modelName(view, commonestModel(view), words)
              )
            : ''
        }
        around={Math.min(Math.max(compared.around, first), last) - first}
        row={row => [
          <RequestLink
            key="request"
            request={first + row}
            text={String(first + row + 1)}
          />,
          ...(hasTwo
            ? [
                <CompareBox
                  key="compare"
                  request={first + row}
                  compared={compared}
                />
              ]
            : []),
          ...columns.map(({ cell }) => cell(first + row))
        ]}
      />
      {hasTwo && (
        <p className="plm-Muted plm-CompareBox-words" role="status">
          {compared.sentence}
        </p>
      )}
      {models.size === 1 && model !== '' && (
        <p className="plm-Muted">
          <bdi>{words.__('All were sent to %1.', model)}</bdi>
        </p>
      )}
    </>
  );
}

const REQUEST_COLUMN = {
  valueAt: (request: number) => request,
  isRowOrder: true
} as const;

/** Returns the columns of numbers, by each of which the rows can be sorted. */
function numberColumns(
  view: TimelineView,
  { track }: IShownTrack,
  isRecorded: boolean,
  words: IWords
): INumberColumn[] {
  const { requests } = view;
  const digits = [...requests.cost, ...track.cost].reduce(
    (most: number, value) =>
      value === null ? most : Math.max(most, usdDecimals(value)),
    0
  );
  const meanings = new Map(
    glossaryEntries(words).map(({ term, meaning }) => [term, meaning])
  );
  const losses = new Map(
    isRecorded ? view.breaks.map(({ request, loss }) => [request, loss]) : []
  );
  const secondsOf = (request: number) => {
    const [started, ended] = [
      requests.started[request],
      requests.ended[request]
    ];
    return typeof started === 'number' && typeof ended === 'number'
      ? Math.max(ended - started, 0) / 1000
      : null;
  };
  const column = (
    head: string,
    valueAt: (request: number) => number | null,
    text: (value: number, request: number) => string = count
  ): INumberColumn => ({
    head,
    isNumber: true,
    valueAt,
    cell: request => {
      const value = valueAt(request);
      return value === null ? NOT_KNOWN : text(value, request);
    }
  });
  return [
    column(
      words.__('cost'),
      request =>
        (isRecorded ? requests.cost[request] : track.cost[request]) ??
        (isRecorded ? null : 0),
      (value, request) =>
        money(
          value,
          view.price.unit,
          isRecorded && !(requests.listed[request] ?? false),
          digits
        )
    ),
    column(words.__('reported'), request =>
      isRecorded ? (requests.reported[request] ?? null) : null
    ),
    {
      ...(isRecorded
        ? column(
            words.__('read from cache'),
            request => requests.read[request] ?? null
          )
        : column(
            words.__('read from cache'),
            request => track.read[request] ?? 0,
            value => `~${count(value)}`
          )),
      meaning: meanings.get('read from cache')
    },
    ...(losses.size > 0
      ? [
          {
            ...column(
              words.__('written anew'),
              request => losses.get(request) ?? null
            ),
            meaning: meanings.get('written anew')
          }
        ]
      : []),
    column(words.__('counted'), request => track.total[request] ?? 0),
    column(words.__('answer'), request => requests.output[request] ?? null),
    ...(requests.id.some((_, request) => secondsOf(request) !== null)
      ? [column(words.__('time'), secondsOf, durationText)]
      : [])
  ];
}

/** Returns the columns of words, without those that would say the same in each row. */
function wordColumns(
  view: TimelineView,
  { track }: IShownTrack,
  isRecorded: boolean,
  words: IWords,
  notes: readonly NoteView[]
): IWordColumn[] {
  const { requests } = view;
  const marksAt = marksByRequest(
    isRecorded
      ? recordedMarks(view, words, notes)
      : policyMarks(track.fired, track.taken, words)
  );
  const marksOf = (request: number) =>
    (marksAt.get(request) ?? [])
      .map(value => markWords(value, words))
      .join(', ');
  const commonest = commonestModel(view);
  return [
    ...(requests.status.some(value => value !== 'ok')
      ? [
          {
            head: words.__('state'),
            cell: (request: number) => requests.status[request] ?? '',
            foldedWords: (request: number) => {
              const state = requests.status[request] ?? '';
              return state === 'ok' ? '' : state;
            }
          }
        ]
      : []),
    ...(marksAt.size > 0
      ? [{ head: words.__('marks'), cell: marksOf, foldedWords: marksOf }]
      : []),
    ...(new Set(requests.model).size > 1
      ? [
          {
            head: words.__('model'),
            cell: (request: number) => (
              <bdi key="model" className="plm-Inspector-model">
                {view.models[requests.model[request] ?? -1] ?? ''}
              </bdi>
            ),
            foldedWords: (request: number) => {
              const model = requests.model[request] ?? -1;
              return model === commonest ? '' : modelName(view, model, words);
            }
          }
        ]
      : [])
  ];
}

/** Returns the number of the model to which most requests were sent. */
function commonestModel({ requests }: TimelineView): number {
  const counts = new Map<number, number>();
  for (const model of requests.model) {
    counts.set(model, (counts.get(model) ?? 0) + 1);
  }
  const [commonest] = [...counts].sort(([, left], [, right]) => right - left);
  return commonest?.[0] ?? -1;
}

function modelName(view: TimelineView, model: number, words: IWords): string {
  return oneLine(view.models[model] ?? '') || words.__('not recorded');
}
