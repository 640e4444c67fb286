/** The place that the address of a report names, and the steps by which the browser goes back and forward. */
import { useEffect, useState } from 'react';
import { linkTo, parseLink } from '../state/inspector/placeLink';
import { NOWHERE, type IInspectorPlace } from '../state/inspector/source';
import type { IWords } from '../views/host';

/** Moves of the same kind within this time are one step back: a walk along the requests, or a word that is typed. */
const STEP_MS = 1_000;

interface IAddressPlace {
  readonly place: IInspectorPlace;
  /** What of the address cannot be shown, in a sentence. */
  readonly remark: string;
  /** Writes a place into the address. */
  readonly setPlace: (place: IInspectorPlace) => void;
}

/** Returns the place of the page's address, which follows the browser's back and forward. */
export function useAddressPlace(session: string, words: IWords): IAddressPlace {
  const [shown, setShown] = useState(() => addressPlace(session, words));
  const [steps] = useState(() => new AddressSteps(session));
  useEffect(() => {
    const follow = () => {
      setShown(addressPlace(session, words));
    };
    window.addEventListener('hashchange', follow);
    return () => {
      window.removeEventListener('hashchange', follow);
    };
  }, [session, words]);
  return {
    ...shown,
    setPlace: place => {
      steps.write(shown.place, place);
      setShown({ place, remark: '' });
    }
  };
}

/** Returns the place that the address names; one of another session is not opened, and a sentence says so. */
function addressPlace(
  session: string,
  words: IWords
): Pick<IAddressPlace, 'place' | 'remark'> {
  const link = parseLink(location.hash.slice(1));
  if (link === null) {
    return { place: NOWHERE, remark: '' };
  }
  return link.session === session
    ? { place: link.place, remark: unknownWords(link.unknown, words) }
    : {
        place: NOWHERE,
        remark: words.__(
          'The link leads to the session %1, which is not in this file: it holds %2.',
          link.session,
          session
        )
      };
}

/** Returns which pieces of a link say nothing to this version; '' where there are none. */
function unknownWords(unknown: readonly string[], words: IWords): string {
  return unknown.length === 0
    ? ''
    : words.__('The link’s “%1” is not known here.', unknown.join('”, “'));
}

/**
 * Writes places into the address.
 *
 * Responsibilities: make a step in the browser's history of each move that is another than the one before.
 */
class AddressSteps {
  private _moved = '';
  private _movedAt = 0;

  constructor(private readonly _session: string) {}

  write(before: IInspectorPlace, after: IInspectorPlace): void {
    const moved = changedFields(before, after);
    const now = Date.now();
    const isSameStep = moved === this._moved && now - this._movedAt < STEP_MS;
    this._moved = moved;
    this._movedAt = now;
    const address = `#${linkTo(this._session, after)}`;
    if (isSameStep) {
      history.replaceState(null, '', address);
    } else {
      history.pushState(null, '', address);
    }
  }
}

/** Returns the names of the fields in which two places differ. */
function changedFields(
  before: IInspectorPlace,
  after: IInspectorPlace
): string {
  const names = Object.keys({
    ...before,
    ...after
  }) as (keyof IInspectorPlace)[];
  return names
    .filter(name => (before[name] ?? null) !== (after[name] ?? null))
    .sort()
    .join(' ');
}
