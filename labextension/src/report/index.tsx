/**
 * `session.report()`: the inspector alone on a page, over data that is inside it.
 *
 * The link after `#` keeps the place, so that a page can be handed on at a request.
 */
import { createRoot } from 'react-dom/client';
import { HostProvider, type IHost } from '../views/host';
import { Inspector } from '../views/inspector/inspector';
import '../../style/base.css';
import '../../style/panel.css';
import '../../style/widget.css';
import '../../style/inspector.css';
import '../../style/forcedColors.css';
import '../../style/inspectedCell.css';
import { WORDS } from '../widget/hostParts';
import { PLAIN_TEXT_HOST } from '../widget/plainTextHost';
import { applyTheme } from '../widget/theme';
import { useAddressPlace } from './addressPlace';
import { usePrinting } from './printing';
import { readReport } from './reportData';
import { ReportSource } from './reportSource';

const { copy } = PLAIN_TEXT_HOST;
/** Of a report, a link is the address of the file at a place. */
const REPORT_HOST: IHost = {
  ...PLAIN_TEXT_HOST,
  ...(copy === undefined
    ? {}
    : {
        copy: (link: string) => copy(new URL(`#${link}`, location.href).href)
      })
};

begin();

function begin(): void {
  const place = document.getElementById('inspector');
  const savedHtml = document.getElementById('saved');
  const packedData: unknown = Reflect.get(globalThis, 'palimpsestReport');
  const data = readReport(packedData);
  if (place === null || data === null) {
    return;
  }
  applyTheme(place);
  place.hidden = false;
  if (savedHtml !== null) {
    savedHtml.hidden = true;
  }
  createRoot(place).render(
    <HostProvider value={REPORT_HOST}>
      <Report
        source={new ReportSource(data, WORDS)}
        session={data.view.session}
        place={place}
      />
    </HostProvider>
  );
}

function Report({
  source,
  session,
  place: element
}: {
  source: ReportSource;
  session: string;
  place: HTMLElement;
}) {
  const isPrinted = usePrinting(element);
  const { place, remark, setPlace } = useAddressPlace(session, WORDS);
  return (
    <Inspector
      source={source}
      place={place}
      remark={remark}
      isPrinted={isPrinted}
      onPlace={setPlace}
    />
  );
}
