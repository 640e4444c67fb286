/** The head of the grid: what its squares mean, and the fields that choose its rows, their order, and the width of its columns. */
import { memo, useMemo } from 'react';
import type { ItemFilter } from '../../../protocol/generated';
import { stateWords } from '../../../state/inspector/why';
import { count } from '../../../state/text/numberFormat';
import { SelectField, TickBox } from '../../controls/fields';
import { useHost } from '../../host';
import { useGridChoice, useInspectedSession } from '../controls/inspection';
import { TOOLBAR_KEYS, useListFocus } from '../controls/listFocus';
import { StepButton } from '../controls/stepButton';
import { kindWords } from '../timeline/kinds';
import { oneLine } from '../../../state/text/oneLine';

interface IGridFilterProps {
  /** The step of the columns' width, and how many there are. */
  zoom: number;
  zooms: number;
  itemCount: number;
  /** Whether the legend has the colours of the kinds, too. */
  hasKinds: boolean;
}

/** Draws heading and legend, and the fields below them. */
export const GridFilter = memo(function GridFilter(props: IGridFilterProps) {
  const { itemCount, hasKinds } = props;
  const { words } = useHost();
  const { view, goTo } = useInspectedSession();
  const { filter } = useGridChoice();
  const tools = useMemo(
    () => [...new Set(view.items.tool)].filter(name => name !== '').sort(),
    [view]
  );
  const kinds = useUsedKinds();
  const set = (change: Partial<ItemFilter>) => {
    goTo({ filter: { ...filter, ...change } });
  };
  return (
    <div
      className="plm-GridFilter"
      role="group"
      aria-label={words.__('Which items')}
    >
      <div className="plm-Inspector-head">
        <h3>{words.__('Items by requests')}</h3>
        <span className="plm-Muted" role="status">
          {itemCount === 1
            ? words.__('1 item')
            : words.__('%1 items', count(itemCount))}
        </span>
        <GridLegend hasKinds={hasKinds} />
        <ColumnWidth {...props} />
      </div>
      <div className="plm-GridFilter-fields">
        <input
          className="plm-Field plm-GridFilter-text"
          type="search"
          aria-label={words.__('Find items')}
          placeholder={words.__('Find items')}
          value={filter.text}
          onChange={event => {
            set({ text: event.target.value });
          }}
        />
        <SelectField
          label={words.__('Kind')}
          value={filter.kind}
          choices={[
            ['', words.__('all kinds')],
            ...kinds.map(name => [name, kindWords(name, words)] as const)
          ]}
          onChoose={kind => {
            set({ kind });
          }}
        />
        {tools.length > 0 && (
          <SelectField
            label={words.__('Tool')}
            value={filter.tool}
            choices={[
              ['', words.__('all tools')],
              ...tools.map(name => [name, oneLine(name)] as const)
            ]}
            onChoose={tool => {
              set({ tool });
            }}
          />
        )}
        <SelectField
          label={words.__('Order')}
          value={filter.sort}
          choices={[
            ['size', words.__('largest first')],
            ['order', words.__('in order')]
          ]}
          onChoose={sort => {
            set({ sort: sort === 'size' ? 'size' : 'order' });
          }}
        />
        <TickBox
          className="plm-GridFilter-check"
          isTicked={filter.changed}
          onTick={changed => {
            set({ changed });
          }}
        >
          {words.__('only what changes')}
        </TickBox>
      </div>
    </div>
  );
});

/** Draws the buttons for narrower and wider columns. */
function ColumnWidth({ zoom, zooms }: IGridFilterProps) {
  const { words } = useHost();
  const { goTo } = useInspectedSession();
  const toolbar = useListFocus(2, TOOLBAR_KEYS);
  return (
    <span
      className="plm-GridFilter-zoom"
      role="toolbar"
      aria-label={words.__('Width of the columns')}
      {...toolbar.handlers}
    >
      <StepButton
        label={words.__('Narrower columns')}
        isAtEnd={zoom === 0}
        onStep={() => {
          goTo({ zoom: zoom - 1 });
        }}
        tabIndex={toolbar.tabIndexOf(0)}
      >
        −
      </StepButton>
      <StepButton
        label={words.__('Wider columns')}
        isAtEnd={zoom === zooms - 1}
        onStep={() => {
          goTo({ zoom: zoom + 1 });
        }}
        tabIndex={toolbar.tabIndexOf(1)}
      >
        +
      </StepButton>
    </span>
  );
}

/** Returns the kinds of the session's items, in the view's order. */
function useUsedKinds(): readonly string[] {
  const { view } = useInspectedSession();
  return useMemo(() => {
    const used = new Set(view.items.kind);
    return view.kinds.filter((_, kind) => used.has(kind));
  }, [view]);
}

/** Draws the kinds that the session has, unless they are told beside it, and the states that the tracks have. */
const GridLegend = memo(function GridLegend({
  hasKinds
}: {
  hasKinds: boolean;
}) {
  const { words } = useHost();
  const { recordedTrack, whatIf } = useInspectedSession();
  const kinds = useUsedKinds();
  const states = useMemo(
    () =>
      [
        ...new Set([
          ...recordedTrack.track.transitions.state,
          ...(whatIf?.track.transitions.state ?? [])
        ])
      ].filter(state => state !== 'whole'),
    [recordedTrack.track, whatIf?.track]
  );
  return states.length === 0 && !hasKinds ? null : (
    <ul
      className="plm-GridLegend plm-Muted"
      aria-label={words.__('What the squares mean')}
    >
      {(hasKinds ? kinds.toReversed() : []).map(kind => (
        <li key={kind}>
          <span className="plm-Inspector-square plm-Kind" data-kind={kind} />
          {kindWords(kind, words)}
        </li>
      ))}
      {states.map(state => (
        <li key={state}>
          <span className="plm-Inspector-square" data-state={state} />
          {stateWords(state)}
        </li>
      ))}
    </ul>
  );
});
