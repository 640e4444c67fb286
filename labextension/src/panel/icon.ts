/** The panel's icon in the side bar: a line of writing over an erased one. */
import { LabIcon } from '@jupyterlab/ui-components';

const DRAWING = `<svg xmlns="http://www.w3.org/2000/svg" width="16" height="16" viewBox="0 0 24 24">
  <g class="jp-icon3" fill="#616161">
    <path d="M5 2h14a2 2 0 0 1 2 2v16a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2V4a2 2 0 0 1 2-2zm0 2v16h14V4z" fill-rule="evenodd"/>
    <path d="M7 7h10v2H7zM7 11h2.4v1.6H7zM10.800 11h2.4v1.6h-2.400zM14.600 11h2.400v1.6h-2.400zM7 15h7v2H7z"/>
  </g>
</svg>`;

export const agentIcon = new LabIcon({
  name: 'jupyter-palimpsest:agent',
  svgstr: DRAWING
});
