/** The marker behind the last line of a text that a question is about. */
import { TEXT_END } from '../dom/endSeen';

/** Draws an element without content, which is visible as soon as the text's end is. */
export function TextEnd() {
  return (
    <span className="plm-TextEnd" aria-hidden="true" {...{ [TEXT_END]: '' }} />
  );
}
