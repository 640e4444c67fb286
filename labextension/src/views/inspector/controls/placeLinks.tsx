/** Buttons in a sentence or a table that move the cursor. */
import type { ReactNode } from 'react';
import { itemLabel, splitName } from '../../../state/inspector/labels';
import type { IInspectorPlace } from '../../../state/inspector/source';
import { itemName } from '../../../state/inspector/rowNames';
import { LinkButton } from '../../controls/buttons';
import { useHost } from '../../host';
import { useInspectedSession, useInspection } from './inspection';
import { STOP_ATTRIBUTE } from './listFocus';

interface IPlaceLinkProps {
  place: Partial<IInspectorPlace>;
  /** Its accessible name and what is shown beside the pointer, where its text alone does not tell. */
  label?: string;
  /** Whether it is cut where room is short. */
  isCutShort?: boolean;
  children: ReactNode;
}

/** Moves to a place. */
export function PlaceLink(props: IPlaceLinkProps) {
  const { place, label, isCutShort = false, children } = props;
  const { goTo } = useInspectedSession();
  return (
    <LinkButton
      className={`plm-Inspector-link${isCutShort ? ' plm-Inspector-name' : ''}`}
      aria-label={label}
      title={label}
      onClick={() => {
        goTo(place);
      }}
    >
      {children}
    </LinkButton>
  );
}

/** Moves the cursor to a request, and to an item where one is given. */
export function RequestLink(props: {
  request: number;
  item?: number | null;
  text?: string;
}) {
  const { request, item, text } = props;
  const { words } = useHost();
  const { goTo, view } = useInspectedSession();
  const name = words.__('request %1', request + 1);
  const isNumber = text === String(request + 1);
  const targetItem = item ?? null;
  return (
    <LinkButton
      className="plm-Inspector-link"
      // Links are also read in a list of their own, where a number or a "show" would say nothing.
      aria-label={
        text === undefined || isNumber
          ? name
          : text.includes(name)
            ? text
            : targetItem === null
              ? `${text} ${name}`
              : `${text} ${words.__('%1 in %2', itemLabel(view, targetItem), name)}`
      }
      onClick={() => {
        goTo({
          request,
          against: null,
          ...(targetItem === null ? {} : { item: targetItem })
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
export function ItemLink(props: {
  item: number;
  /** Of a link in a list that is one stop of the Tab key. */
  tabIndex?: number;
}) {
  const { item, tabIndex } = props;
  const { view, goTo, cardFocus, item: chosenItem } = useInspection();
  const label = itemLabel(view, item);
  const [head, tail] = splitName(itemName(view, item));
  return (
    <LinkButton
      className="plm-Inspector-link plm-Inspector-name"
      aria-current={item === chosenItem}
      {...(tabIndex === undefined ? {} : { tabIndex, ...STOP_ATTRIBUTE })}
      aria-label={label}
      title={label}
      onClick={event => {
        goTo({ item });
        if (event.detail === 0) {
          cardFocus.moveIntoCard(event.currentTarget);
        }
      }}
    >
      <bdi>{head}</bdi>
      {tail !== '' && <bdi className="plm-Inspector-nameEnd">{tail}</bdi>}
    </LinkButton>
  );
}
