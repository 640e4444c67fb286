/**
 * Code fences in a model's Markdown.
 */
interface IListing {
  code: string;
  language: string;
}

/** Returns the code of a block that is a single, closed code fence; otherwise null. */
export function wholeListing(text: string): IListing | null {
  const match =
    /^(`{3,}|~{3,})[ \t]*([\w+#.-]*)[ \t]*\n(?:([^]*?)\n)?\1[ \t]*\s*$/.exec(
      text
    );
  if (match === null) {
    return null;
  }
  const [, fence = '', language = '', code = ''] = match;
  // A fence inside would have closed it earlier.
  const inside = new RegExp(`^ {0,3}${fence}`, 'm');
  return inside.test(code) ? null : { code, language };
}

/** Returns whether a fence's language is Python, or not named. */
export function mayBePython({ language }: IListing): boolean {
  return language === '' || isPython(language);
}

/** Returns whether a fence names Python. */
export function isPython(language: string): boolean {
  return /^(?:i?python[23]?|py[23]?)$/i.test(language);
}
