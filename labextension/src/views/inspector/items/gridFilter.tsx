/** The head of the grid: what its squares mean, and the fields that choose its rows, their order, and the width of its columns. */
import { memo, useMemo } from 'react';
import type { ItemFilter } from '../../../protocol/generated';
import { count } from '../../../state/text/numberFormat';
import { SelectField, TickBox } from '../../controls/fields';
import { useHost } from '../../host';
import { useGridChoice, useInspectedSession } from '../controls/inspection';
import { TOOLBAR_KEYS, useListFocus } from '../controls/listFocus';
import { StepButton } from '../controls/stepButton';
import { kindWords } from '../timeline/kinds';
import { oneLine } from '../../../state/text/oneLine';
import { GridLegend } from './gridLegend';

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
  const { view, go } = useInspectedSession();
  const { filter } = useGridChoice();
  const tools = useMemo(
    () => [...new Set(view.items.tool)].filter(name => name !== '').sort(),
    [view]
  );
  const kinds = useMemo(() => {
    const used = new Set(view.items.kind);
    return view.kinds.filter((_, kind) => used.has(kind));
  }, [view]);
  const set = (change: Partial<ItemFilter>) => {
    go({ filter: { ...filter, ...change } });
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
          {words._n('%1 item', '%1 items', itemCount, count(itemCount))}
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
  const { go } = useInspectedSession();
  const toolbar = useListFocus(2, TOOLBAR_KEYS);
  return (
    <span
      className="plm-GridFilter-zoom"
      role="toolbar"
      aria-label={words.__('Width of the columns')}
      {...toolbar.list}
    >
      <StepButton
        label={words.__('Narrower columns')}
        isAtEnd={zoom === 0}
        onStep={() => {
          go({ zoom: zoom - 1 });
        }}
        tabIndex={toolbar.tabIndex(0)}
      >
        −
      </StepButton>
      <StepButton
        label={words.__('Wider columns')}
        isAtEnd={zoom === zooms - 1}
        onStep={() => {
          go({ zoom: zoom + 1 });
        }}
        tabIndex={toolbar.tabIndex(1)}
      >
        +
      </StepButton>
    </span>
  );
}
