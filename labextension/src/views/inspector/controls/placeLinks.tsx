/** Buttons in a sentence or a table that move the cursor. */
import { itemLabel } from '../../../state/inspector/labels';
import { useHost } from '../../host';
import { useInspection } from './inspection';

/** Moves the cursor to a request, and to an item where one is given. */
export function RequestLink({
  request,
  item,
  text
}: {
  request: number;
  item?: number | null;
  text?: string;
}) {
  const { words } = useHost();
  const { go } = useInspection();
  return (
    <button
      type="button"
      className="plm-Link plm-Inspector-link"
      onClick={() => {
        go({
          request,
          against: null,
          ...((item ?? null) === null ? {} : { item })
        });
      }}
    >
      {text ?? words.__('request %1', request + 1)}
    </button>
  );
}

/** Moves the cursor to an item; its name is cut by the style. */
export function ItemLink({ item }: { item: number }) {
  const { view, go, item: chosen } = useInspection();
  const label = itemLabel(view, item);
  return (
    <button
      type="button"
      className="plm-Link plm-Inspector-link plm-Inspector-name"
      aria-current={item === chosen}
      title={label}
      onClick={() => {
        go({ item });
      }}
    >
      <bdi>{label}</bdi>
    </button>
  );
}
