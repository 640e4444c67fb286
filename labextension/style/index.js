import './base.css';
import './panel.css';
import './forced.css';
