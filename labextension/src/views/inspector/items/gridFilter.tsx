/** The fields that choose the grid's rows, their order, and the width of its columns. */
import { memo, useMemo } from 'react';
import type { ItemFilter } from '../../../protocol/generated';
import { count } from '../../../state/text/numberFormat';
import { useHost } from '../../host';
import { useInspectedSession } from '../controls/inspection';
import { StepButton } from '../controls/stepButton';
import { kindWords } from '../timeline/kinds';
import { oneLine } from '../../../state/text/oneLine';

interface IGridFilterProps {
  filter: ItemFilter;
  onFilter: (filter: ItemFilter) => void;
  zoom: number;
  zooms: number;
  onZoom: (zoom: number) => void;
  itemCount: number;
}

/** Draws the fields. */
export const GridFilter = memo(function GridFilter(props: IGridFilterProps) {
  const { filter, onFilter, zoom, zooms, onZoom, itemCount } = props;
  const { words } = useHost();
  const { view } = useInspectedSession();
  const tools = useMemo(
    () => [...new Set(view.items.tool)].filter(name => name !== '').sort(),
    [view]
  );
  const kinds = useMemo(() => {
    const used = new Set(view.items.kind);
    return view.kinds.filter((_, kind) => used.has(kind));
  }, [view]);
  const set = (change: Partial<ItemFilter>) => {
    onFilter({ ...filter, ...change });
  };
  return (
    <div
      className="plm-GridFilter"
      role="group"
      aria-label={words.__('Which items')}
    >
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
      <select
        className="plm-Field"
        aria-label={words.__('Kind')}
        value={filter.kind}
        onChange={event => {
          set({ kind: event.target.value });
        }}
      >
        <option value="">{words.__('all kinds')}</option>
        {kinds.map(name => (
          <option key={name} value={name}>
            {kindWords(name, words)}
          </option>
        ))}
      </select>
      {tools.length > 0 && (
        <select
          className="plm-Field"
          aria-label={words.__('Tool')}
          value={filter.tool}
          onChange={event => {
            set({ tool: event.target.value });
          }}
        >
          <option value="">{words.__('all tools')}</option>
          {tools.map(name => (
            <option key={name} value={name}>
              {oneLine(name)}
            </option>
          ))}
        </select>
      )}
      <select
        className="plm-Field"
        aria-label={words.__('Order')}
        value={filter.sort}
        onChange={event => {
          set({ sort: event.target.value === 'size' ? 'size' : 'order' });
        }}
      >
        <option value="size">{words.__('largest first')}</option>
        <option value="order">{words.__('in order')}</option>
      </select>
      <label className="plm-GridFilter-check">
        <input
          type="checkbox"
          checked={filter.changed}
          onChange={event => {
            set({ changed: event.target.checked });
          }}
        />
        {words.__('only what changes')}
      </label>
      <span className="plm-GridFilter-zoom">
        <StepButton
          label={words.__('Narrower columns')}
          isAtEnd={zoom === 0}
          onStep={() => {
            onZoom(zoom - 1);
          }}
        >
          −
        </StepButton>
        <StepButton
          label={words.__('Wider columns')}
          isAtEnd={zoom === zooms - 1}
          onStep={() => {
            onZoom(zoom + 1);
          }}
        >
          +
        </StepButton>
      </span>
      <span className="plm-Muted" role="status">
        {itemCount === 1
          ? words.__('1 item')
          : words.__('%1 items', count(itemCount))}
      </span>
    </div>
  );
});
