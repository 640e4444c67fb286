/** Orders a widget's style sheet among those of the page. */

/** The selector of a rule that only the sheet of `session.view()` has. */
export const VIEW_SELECTOR = '.plm-View-title';
/** The selector of a rule that only the sheet of `session.inspect()` has. */
export const INSPECTOR_SELECTOR = '.plm-InspectedCell';

/** Marks that our labextension's styles are in the page; see `style/extension.css`. */
const EXTENSION_VARIABLE = '--plm-extension';

/** The beginning of variables that each of our sheets has, and none of the page's own. */
const OUR_PREFIX = '--plm-';

/**
 * Puts a widget's sheet, which has the rule `own`, before those of our labextension if that is present.
 *
 * Both contain the same rules. anywidget appends its sheet, which would override the panel's own
 * exceptions from these rules in the whole page. The page's own rules stay before it: some are as
 * specific as the widget's.
 */
export function deferToExtensionStyles(
  page: Document,
  ownSelector: string
): void {
  const marker = getComputedStyle(page.documentElement).getPropertyValue(
    EXTENSION_VARIABLE
  );
  if (marker.trim() === '') {
    return;
  }
  const sheets = [...page.querySelectorAll('style')];
  const extensionSheet = sheets.find(
    ({ textContent: text }) =>
      text.includes(OUR_PREFIX) &&
      !text.includes(VIEW_SELECTOR) &&
      !text.includes(INSPECTOR_SELECTOR)
  );
  for (const sheet of sheets) {
    const isAfter =
      extensionSheet !== undefined &&
      (extensionSheet.compareDocumentPosition(sheet) &
        Node.DOCUMENT_POSITION_FOLLOWING) !==
        0;
    if (sheet.textContent.includes(ownSelector) && isAfter) {
      extensionSheet.before(sheet);
    }
  }
}
