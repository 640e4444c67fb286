/** Names of a page's regions, which a screen reader lists: two of the same name could not be told apart. */
import { useLayoutEffect, type RefObject } from 'react';
import { useHost, type IWords } from '../host';

/** Attributes of a named region: its name without a number, and its number. All our scripts in a page see them. */
const NAME_ATTRIBUTE = 'data-plm-region';
const NUMBER_ATTRIBUTE = 'data-plm-region-number';

/** Names a region: as given for the first one of that name in the page, with the least free number for others. */
export function nameRegion(
  element: HTMLElement,
  name: string,
  words: IWords
): void {
  const takenNumbers = new Set(
    [...document.querySelectorAll(`[${NAME_ATTRIBUTE}]`)]
      .filter(
        other =>
          other !== element && other.getAttribute(NAME_ATTRIBUTE) === name
      )
      .map(other => Number(other.getAttribute(NUMBER_ATTRIBUTE)))
  );
  let number = 1;
  while (takenNumbers.has(number)) {
    number += 1;
  }
  element.setAttribute(NAME_ATTRIBUTE, name);
  element.setAttribute(NUMBER_ATTRIBUTE, String(number));
  element.setAttribute(
    'aria-label',
    number === 1 ? name : words.__('%1 (%2)', name, number)
  );
}

/** Names a region while it is drawn. */
export function useRegionName(
  elementRef: RefObject<HTMLElement | null>,
  name: string
): void {
  const { words } = useHost();
  useLayoutEffect(() => {
    if (elementRef.current !== null) {
      nameRegion(elementRef.current, name, words);
    }
  }, [elementRef, name, words]);
}
