/**
 * Finds text in elements and paints it, without changing them: the browser's own highlights, or an outline around the
 * element where it has none.
 */

/** The attribute of an element that is painted instead of a text in it. */
const OUTLINE_ATTRIBUTE = 'data-plm-found';

/** Matches elements whose text is not searched: buttons of listings, and text for screen readers only. */
const UNSEARCHED = '.plm-CodeActions, .plm-Hidden, [hidden], mjx-assistive-mml';

/** Returns the occurrences of a pattern in the text of an element, also across inline elements. */
export function textRanges(root: Element, pattern: RegExp): Range[] {
  const nodes: [node: Text, from: number][] = [];
  let text = '';
  const walker = document.createTreeWalker(root, NodeFilter.SHOW_TEXT);
  for (
    let node = walker.nextNode() as Text | null;
    node !== null;
    node = walker.nextNode() as Text | null
  ) {
    if (node.parentElement?.closest(UNSEARCHED) === null) {
      nodes.push([node, text.length]);
      text += node.data;
    }
  }
  return [...text.matchAll(pattern)].map(({ 0: match, index }) => {
    const range = document.createRange();
    range.setStart(...nodePosition(nodes, index));
    range.setEnd(...nodePosition(nodes, index + match.length - 1, 1));
    return range;
  });
}

/** Returns the text node with a character, and the character's place in it. */
function nodePosition(
  nodes: readonly [Text, number][],
  offset: number,
  distance = 0
): [Text, number] {
  const [node, nodeStart] = nodes.findLast(([, start]) => start <= offset) ?? [
    new Text(),
    offset
  ];
  return [node, offset - nodeStart + distance];
}

/** Paints ranges under a name of the style sheet, in the place of those painted before. */
export function paintRanges(name: string, ranges: readonly Range[]): void {
  if (typeof Highlight === 'undefined' || !('highlights' in CSS)) {
    outlineRanges(name, ranges);
  } else if (ranges.length === 0) {
    CSS.highlights.delete(name);
  } else {
    CSS.highlights.set(name, new Highlight(...ranges));
  }
}

function outlineRanges(name: string, ranges: readonly Range[]): void {
  for (const node of document.querySelectorAll(
    `[${OUTLINE_ATTRIBUTE}='${name}']`
  )) {
    node.removeAttribute(OUTLINE_ATTRIBUTE);
  }
  for (const { startContainer } of ranges) {
    startContainer.parentElement?.setAttribute(OUTLINE_ATTRIBUTE, name);
  }
}

/** Scrolls every box around a range, up to an outermost one, so that the range is in view. */
export function scrollToRange(range: Range, outermost: Element): void {
  let box = range.startContainer.parentElement;
  while (box !== null) {
    const rangeBox = range.getBoundingClientRect();
    const boxFrame = box.getBoundingClientRect();
    if (
      box.scrollHeight > box.clientHeight &&
      isScrollable(box, box === outermost)
    ) {
      const isSeen =
        rangeBox.top >= boxFrame.top && rangeBox.bottom <= boxFrame.bottom;
      if (!isSeen) {
        const third = box.clientHeight / 3;
        box.scrollTop += rangeBox.top - boxFrame.top - third;
      }
    }
    if (box.scrollWidth > box.clientWidth && box !== outermost) {
      const isSeen =
        rangeBox.left >= boxFrame.left && rangeBox.right <= boxFrame.right;
      if (!isSeen) {
        box.scrollLeft += rangeBox.left - boxFrame.left - box.clientWidth / 3;
      }
    }
    box = box === outermost ? null : box.parentElement;
  }
}

function isScrollable(box: Element, isOutermost: boolean): boolean {
  return isOutermost || /auto|scroll/.test(getComputedStyle(box).overflowY);
}
