/** The cache marks of the request at the cursor, in words: below the grid, and in the card of an item. */
import { Fragment } from 'react';
import {
  markWords,
  type ICacheMark
} from '../../../state/inspector/cacheMarks';
import { itemLabel, shortName } from '../../../state/inspector/labels';
import { oneLine } from '../../../state/text/oneLine';
import { useHost } from '../../host';
import {
  useCacheMarks,
  useInspectedSession,
  useInspection
} from '../controls/inspection';
import { PlaceLink } from '../controls/placeLinks';
import { TermButton } from '../glossary/term';

/** Letters of an item's name in the sentence. */
const MAX_NAME_LETTERS = 32;

/** Draws where the marks of the request at the cursor stand; nothing where none is recorded. */
export function CacheMarkSentence() {
  const { words } = useHost();
  const { request } = useInspection();
  const marks = useCacheMarks();
  return marks.length === 0 ? null : (
    <p className="plm-Muted plm-CacheMarks">
      <span className="plm-CacheMarks-sign" aria-hidden="true" />{' '}
      <TermButton term="cache mark">
        {words._n('%1 cache mark', '%1 cache marks', marks.length)}
      </TermButton>{' '}
      {words.__('in request %1, after:', request + 1)}{' '}
      {marks.map((mark, index) => (
        <Fragment key={mark.number}>
          {mark.item === null ? (
            <bdi>{oneLine(mark.place)}</bdi>
          ) : (
            <MarkedItem mark={mark} item={mark.item} />
          )}
          {mark.lifetime !== '' &&
            ` ${words.__('for %1', oneLine(mark.lifetime))}`}
          {index < marks.length - 1 ? ', ' : '.'}
        </Fragment>
      ))}
    </p>
  );
}

function MarkedItem({ mark, item }: { mark: ICacheMark; item: number }) {
  const { words } = useHost();
  const label = itemLabel(useInspectedSession().view, item);
  return (
    <PlaceLink
      place={{ item }}
      label={words.__('%1, after %2', markWords(mark), label)}
    >
      <bdi>{`${item + 1} ${shortName(label, MAX_NAME_LETTERS)}`}</bdi>
    </PlaceLink>
  );
}

/** Draws which marks stand after an item in the request at the cursor; nothing where none does. */
export function MarksOfItem({ item }: { item: number }) {
  const { words } = useHost();
  const { view, request, definition } = useInspection();
  const marks = useCacheMarks().filter(
    mark =>
      mark.item === item &&
      (definition === null || mark.definition === definition)
  );
  const firstDefinition = view.definitions.item.indexOf(item);
  return marks.map(mark => (
    <p key={mark.number}>
      {mark.definition === null || definition !== null || firstDefinition < 0
        ? words.__(
            'In request %1 it is followed by %2.',
            request + 1,
            markWords(mark)
          )
        : words.__(
            'In request %1 the definition of %3 is followed by %2.',
            request + 1,
            markWords(mark),
            oneLine(
              view.definitions.name[firstDefinition + mark.definition] ?? ''
            )
          )}
    </p>
  ));
}
