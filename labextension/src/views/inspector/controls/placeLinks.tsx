/** Buttons in a sentence or a table that move the cursor. */
import type { ReactNode } from 'react';
import { itemLabel, splitName } from '../../../state/inspector/labels';
import type { IInspectorPlace } from '../../../state/inspector/source';
import { itemName } from '../../../state/inspector/rowNames';
import { LinkButton } from '../../controls/buttons';
import { useHost } from '../../host';
import { useInspectedSession, useInspection } from './inspection';
import { STOP } from './listFocus';

interface IPlaceLinkProps {
  place: Partial<IInspectorPlace>;
  /** Its accessible name and what is shown beside the pointer, where its text alone does not tell. */
  label?: string;
  /** Whether it is cut where room is short. */
  isName?: boolean;
  children: ReactNode;
}

/** Moves to a place. */
export function PlaceLink({
  place,
  label,
  isName = false,
  children
}: IPlaceLinkProps) {
  const { go } = useInspectedSession();
  return (
    <LinkButton
      className={`plm-Inspector-link${isName ? ' plm-Inspector-name' : ''}`}
      aria-label={label}
      title={label}
      onClick={() => {
        go(place);
      }}
    >
      {children}
    </LinkButton>
  );
}

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
  const { go, view } = useInspectedSession();
  const name = words.__('request %1', request + 1);
  const isNumber = text === String(request + 1);
  const target = item ?? null;
  return (
    <LinkButton
      className="plm-Inspector-link"
      // Links are also read in a list of their own, where a number or a "show" would say nothing.
      aria-label={
        text === undefined || isNumber
          ? name
          : text.includes(name)
            ? text
            : target === null
              ? `${text} ${name}`
              : `${text} ${words.__('%1 in %2', itemLabel(view, target), name)}`
      }
      onClick={() => {
        go({
          request,
          against: null,
          ...(target === null ? {} : { item: target })
        });
      }}
    >
      {text ?? name}
    </LinkButton>
  );
}

/**
 * Chooses an item; its name is as in the grid, and cut by the style, a path in its middle.
 *
 * A mouse stays where it is, so that one item after the other can be chosen; keys go on to the item's card.
 */
export function ItemLink({
  item,
  tabIndex
}: {
  item: number;
  /** Of a link in a list that is one stop of the Tab key. */
  tabIndex?: number;
}) {
  const { view, go, card, item: chosen } = useInspection();
  const label = itemLabel(view, item);
  const [head, tail] = splitName(itemName(view, item));
  return (
    <LinkButton
      className="plm-Inspector-link plm-Inspector-name"
      aria-current={item === chosen}
      {...(tabIndex === undefined ? {} : { tabIndex, ...STOP })}
      aria-label={label}
      title={label}
      onClick={event => {
        go({ item });
        if (event.detail === 0) {
          card.moveIntoCard(event.currentTarget);
        }
      }}
    >
      <bdi>{head}</bdi>
      {tail !== '' && <bdi className="plm-Inspector-nameEnd">{tail}</bdi>}
    </LinkButton>
  );
}
