/** Orders a widget's style sheet among those of the page. */

/** A rule that only the sheet of `session.view()` has. */
export const VIEW_SHEET = '.plm-View-title';
/** A rule that only the sheet of `session.inspect()` has. */
export const INSPECTOR_SHEET = '.plm-InspectedCell';

/** Marks that our labextension's styles are in the page; see `style/extension.css`. */
const EXTENSION = '--plm-extension';

/** In each of our sheets, and in none of the page's own. */
const OUR_VARIABLES = '--plm-';

/**
 * Puts a widget's sheet, which has the rule `own`, before those of our labextension if that is present.
 *
 * Both contain the same rules. anywidget appends its sheet, which would override the panel's own
 * exceptions from these rules in the whole page. The page's own rules stay before it: some are as
 * specific as the widget's.
 */
export function deferToExtensionStyles(page: Document, own: string): void {
  const marker = getComputedStyle(page.documentElement).getPropertyValue(
    EXTENSION
  );
  if (marker.trim() === '') {
    return;
  }
  const sheets = [...page.querySelectorAll('style')];
  const first = sheets.find(
    ({ textContent: text }) =>
      text.includes(OUR_VARIABLES) &&
      !text.includes(VIEW_SHEET) &&
      !text.includes(INSPECTOR_SHEET)
  );
  for (const sheet of sheets) {
    const isAfter =
      first !== undefined &&
      (first.compareDocumentPosition(sheet) &
        Node.DOCUMENT_POSITION_FOLLOWING) !==
        0;
    if (sheet.textContent.includes(own) && isAfter) {
      first.before(sheet);
    }
  }
}
