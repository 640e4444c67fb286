/** Why a kernel could not load the package, in one sentence that says what to do. */

interface ITranslator {
  __(text: string, ...values: string[]): string;
}

/** Returns the sentence for an execute reply of status `error`. */
export function loadFailureSentence(
  { ename, evalue }: { ename: string; evalue: string },
  words: ITranslator
): string {
  return words.__(
    'The kernel could not load Palimpsest (%1: %2). Install it where the kernel runs: pip install jupyter-palimpsest.',
    ename,
    evalue
  );
}
