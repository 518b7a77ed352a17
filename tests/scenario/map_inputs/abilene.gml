graph [
  label "Abilene"
  node [ id 0 label "New York" Longitude -74.00597 Internal 1 Latitude 40.71427 ]
  node [ id 1 label "Chicago" Longitude -87.65005 Latitude 41.85003 ]
  node [ id 2 label "Seattle" Longitude -122.33207 Latitude 47.60621 ]
  node [ id 3 label "Seattle" ]
  edge [ source 0 target 1 LinkLabel "OC-192c" LinkSpeedRaw 9953280000.0 ]
  edge [ source 1 target 2 LinkLabel "OC-192c" ]
  edge [ source 2 target 3 ]
  edge [ source 3 target 2 ]
]
