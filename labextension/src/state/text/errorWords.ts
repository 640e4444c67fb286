/**
 * Messages of failed requests in the page's words: what a person types in a cell or terminal is left out of their
 * advice, since the page has a list of models and buttons for it.
 *
 * The kernel writes them in model/errors and loop; both are tested on tests/fixtures/error_words.json.
 */

/** Matches the options of the magic or of the command line that an advice names. */
const TYPED_ADVICE =
  / with (?:--(?:model|tools|new)\b|%agent(?: [\w-]+){1,2})/g;

const MODEL_LIST_ADVICE = /%agent models lists what can be used/g;

/** Matches advice about temporary failures, which the page offers as a button. */
const WAIT_ADVICE = / ?Wait a while, or choose another model\./g;

const WEB_ADDRESS = /https?:\/\/([\w[][^\s/?#]*)[^\s,;:)]*/g;

/** Returns a message as the page shows it; `isOffered`: a button that sends it again stands beside it. */
export function errorWords(message: string, isRetryOffered = false): string {
  const messageForPage = message
    .replace(TYPED_ADVICE, '')
    .replace(
      MODEL_LIST_ADVICE,
      'the list of models in the panel shows what can be used'
    );
  return isRetryOffered
    ? messageForPage.replace(WAIT_ADVICE, '')
    : messageForPage;
}

/** Returns why an attempt failed, for a request that is sent again: servers by their names, no advice. */
export function retryReason(message: string): string {
  return errorWords(message, true).replace(WEB_ADDRESS, '$1').trim();
}

/** Returns whether a message says itself that another model may be chosen. */
export function advisesOtherModel(message: string): boolean {
  return message.includes('choose another model');
}
